-- The greatest value of items that fit, for all capacities at once, item by item.
entry main [k] (capacity: i64) (weights: [k]i64) (values: [k]i32): i32 =
  let best =
    loop best = replicate (capacity + 1) 0 for i < k do
      map (\c -> if c < weights[i] then best[c]
                 else i32.max best[c] (best[c - weights[i]] + values[i]))
          (iota (capacity + 1))
  in best[capacity]
