-- Streams that update accumulators, in scope as members of `intrinsics` only. The type
-- `intrinsics.acc` has no definition: accumulators are values of the compiler's own.

val acc_write [k] 'a : *intrinsics.acc ([k]a) -> i64 -> a -> *intrinsics.acc ([k]a)
val scatter_stream [k] [n] 'a 'b : *[k]a -> (*intrinsics.acc ([k]a) -> b -> intrinsics.acc ([k]a)) -> [n]b -> *[k]a
val hist_stream [k] [n] 'a 'b : *[k]a -> (a -> a -> a) -> a -> (*intrinsics.acc ([k]a) -> b -> intrinsics.acc ([k]a)) -> [n]b -> *[k]a
