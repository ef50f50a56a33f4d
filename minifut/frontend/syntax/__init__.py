"""The whole Futhark surface language, as written, with source positions.

The parser builds these nodes; nothing is desugared, so that messages can quote what
the user wrote. The checker writes its findings into the slots marked *checked*, once:

    expression.type        its type (`frontend.types`), fully resolved
    expression.exts        names of the unknown sizes that come into being here
                           (application, if, match, loop, range, slice, ...)
    variable.instance      what its type and size parameters stand for at this use
    binder.name_resolved   the unique `Name` of a bound variable, size or type

Later stages read them and never write. Nodes have identity equality.
"""

from __future__ import annotations

from minifut.frontend.syntax.declarations import *
from minifut.frontend.syntax.expressions import *
from minifut.frontend.syntax.node import *
from minifut.frontend.syntax.patterns import *
from minifut.frontend.syntax.types import *
