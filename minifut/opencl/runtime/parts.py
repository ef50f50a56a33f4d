"""What drives a device, imported together when the first of it is used."""

from __future__ import annotations

from minifut.opencl.runtime.device import Device, list_devices, open_device
from minifut.opencl.runtime.failures import FAILURE_TEXT
from minifut.opencl.runtime.instance import Instance
from minifut.opencl.runtime.opaque_values import Opaque
from minifut.opencl.runtime.pool import Block
from minifut.opencl.runtime.queue import Session
from minifut.opencl.runtime.run import Run
from minifut.opencl.runtime.sessions import open_session

__all__ = [
    "FAILURE_TEXT",
    "Block",
    "Device",
    "Instance",
    "Opaque",
    "Run",
    "Session",
    "list_devices",
    "open_device",
    "open_session",
]
