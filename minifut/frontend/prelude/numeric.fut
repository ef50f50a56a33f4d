-- What every numeric module defines by itself; @t stands for its type, @bits for the
-- integer type of the same width, @to_bits and @from_bits for the way there and back.

def sum [n] (xs: [n]@t) : @t = reduce (+) (@t.i32 0) xs

def product [n] (xs: [n]@t) : @t = reduce (*) (@t.i32 1) xs

def maximum [n] (xs: [n]@t) : @t = reduce @t.max @t.lowest xs

def minimum [n] (xs: [n]@t) : @t = reduce @t.min @t.highest xs

def get_bit (bit: i32) (x: @t) : i32 =
  i32.@bits ((@to_bits x >> @bits.i32 bit) & 1)

def set_bit (bit: i32) (x: @t) (b: i32) : @t =
  let whole = @to_bits x
  let place = @bits.i32 bit
  in @from_bits ((whole & !(1 << place)) | (@bits.i32 b << place))
