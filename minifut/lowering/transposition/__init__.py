"""Copies that move another dimension innermost.

planes      the two dimensions that change places
cpu, gpu    tile by tile, in registers or in local memory
"""
