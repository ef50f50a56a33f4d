"""Gradients from Python: derivatives of entry points, compiled when first requested.

    prog = minifut.compile("model.fut")           # entry loss (w: [d]f32) (xs: ..) ..
    value, dw = prog.loss.value_and_grad(w, xs, ys, wrt="w")
           ->  an entry point loss_vjp_wrt_w, compiled once and kept with the program

`derivative`   which derivative of which entry point: a value, and the core that has it
`kept`         the derivatives of a program: compiled, kept, and pickled with it
`methods`      what users call: grad, value_and_grad, jvp, vjp
`jacobian`     all partial derivatives, by many of these
`minifut.torch` and `minifut.jax` offer entry points to these libraries with them.
"""
