"""Programs that treat positions near the ends of arrays in their own way."""

from __future__ import annotations

PROGRAMS = {
    "guard": """entry main [n] (_: i64) (a: [n]i64) (_: [n][n]i64) = tabulate n (\\i ->
        if i == 0 || i == n - 1 then a[i] else a[i - 1] + a[i + 1])""",
    "clamp": """entry main [n] (_: i64) (a: [n]i64) (_: [n][n]i64) = tabulate n (\\i ->
        a[i64.max 0 (i - 2)] + a[i64.min (n - 1) (i + 3)])""",
    "in a loop of rows": """entry main [n] (k: i64) (_: [n]i64) (b: [n][n]i64) =
        map (\\row -> loop r = row for _i < k do tabulate n (\\j ->
          r[i64.max 0 (j - 1)] + r[j] + r[i64.min (n - 1) (j + 1)])) b""",
    "clamps of rows and columns": """entry main [n] (_: i64) (_: [n]i64) (b: [n][n]i64) =
        tabulate_2d n n (\\i j -> b[i64.max 0 (i - 1), j] + b[i64.min (n - 1) (i + 2), j]
                                + b[i, i64.max 0 (j - 1)])""",
    "a clamp and a guard of rows": """entry main [n] (_: i64) (_: [n]i64) (b: [n][n]i64) =
        tabulate_2d n n (\\i j -> if i == 0 then b[i, i64.min (n - 1) (j + 1)]
                                 else b[i64.min (n - 1) (i + 1), j])""",
    "clamp of a clamp": """entry main [n] (_: i64) (a: [n]i64) (_: [n][n]i64) =
        tabulate n (\\i -> i64.sum (tabulate 4 (\\k ->
          a[i64.min (n - 1) (i64.max 0 (i + k - 1))])))""",
    "reflected": """entry main [n] (_: i64) (a: [n]i64) (_: [n][n]i64) =
        let mirror k = let k = i64.abs k in if k >= n then 2 * n - 2 - k else k
        in tabulate n (\\i -> a[mirror (i - 1)] + 2 * a[mirror (i + 2)])""",
    "reflected by branches": """entry main [n] (_: i64) (_: [n]i64) (b: [n][n]i64) =
        let mirror k = let k = if k < 0 then -k else k
                       in if k > n - 1 then 2 * n - 2 - k else k
        in tabulate_2d n n (\\i j -> b[mirror (i - 1), mirror (j + 1)])""",
    "distance from the end": """entry main [n] (_: i64) (a: [n]i64) (_: [n][n]i64) =
        tabulate n (\\i -> a[n - 1 - i64.abs (n - 3 - i)])""",
    "cyclic": """entry main [n] (_: i64) (a: [n]i64) (_: [n][n]i64) = tabulate n (\\i ->
        a[(i + 1) % n] - a[(i + n - 1) % n])""",
    "rotated": """entry main [n] (_: i64) (a: [n]i64) (_: [n][n]i64) =
        map3 (\\x y z -> x - 2 * y + z) (rotate 1 a) a (rotate (-1) a)""",
    "window": """entry main [n] (_: i64) (a: [n]i64) (_: [n][n]i64) = tabulate n (\\i ->
        i64.sum (map (\\d -> let j = i + d - 2
                             in if j >= 0 && j < n then a[j] else 5) (iota 5)))""",
    "first only": """entry main [n] (_: i64) (a: [n]i64) (_: [n][n]i64) =
        tabulate n (\\i -> if i > 2 then a[i] - a[i - 3] else 1)""",
    "last only": """entry main [n] (_: i64) (a: [n]i64) (_: [n][n]i64) =
        map2 (\\i x -> if i < n - 2 then x * a[i + 2] else x) (iota n) a""",
    "two results": """entry main [n] (_: i64) (a: [n]i64) (_: [n][n]i64) =
        unzip (tabulate n (\\i -> if i == 0 then (7, a[i]) else (a[i - 1], 3)))""",
    "matrix": """entry main [n] (_: i64) (_: [n]i64) (b: [n][n]i64) =
        tabulate_2d n n (\\i j ->
          if i == 0 || i == n - 1 || j == 0 || j == n - 1 then b[i, j]
          else b[i - 1, j] + 2 * b[i + 1, j] + 3 * b[i, j - 1] + 4 * b[i, j + 1])""",
    "rows": """entry main [n] (_: i64) (_: [n]i64) (b: [n][n]i64) =
        map3 (map3 (\\x y z -> x + y - z)) (rotate 1 b) b (rotate (-1) b)""",
    "columns": """entry main [n] (_: i64) (_: [n]i64) (b: [n][n]i64) =
        tabulate_2d n n (\\i j -> if j == 0 then b[i, j] else b[i, j] - b[i, j - 1])""",
    "cube": """entry main [n] (_: i64) (a: [n]i64) (b: [n][n]i64) =
        tabulate_3d n n n (\\i j k ->
          b[(i + 1) % n, j] + (if k == 0 then a[j] else a[k - 1])
          - b[(i + n - 1) % n, i64.min (n - 1) (j + 1)])""",
    "time steps": """entry main [n] (k: i64) (_: [n]i64) (b: [n][n]i64) =
        loop b = b for _t < k do
          map2 (map2 (\\x y -> x * 3 - y)) (rotate 1 b) (map (rotate 2) b)""",
    "out of bounds": """entry main [n] (_: i64) (a: [n]i64) (_: [n][n]i64) =
        tabulate n (\\i -> if i == 0 then 0 else a[i - 1] + a[i + 1])""",
    "from outside": """entry main [n] (k: i64) (a: [n]i64) (_: [n][n]i64) =
        tabulate n (\\i -> if i < 3 then a[i + k] else a[i - 3])""",
    "sum": """entry main [n] (_: i64) (a: [n]i64) (_: [n][n]i64) =
        i64.sum (tabulate n (\\i -> if i == 0 then a[i] else a[i] * a[i - 1]))""",
    "sum and map": """entry main [n] (_: i64) (a: [n]i64) (_: [n][n]i64) =
        let b = tabulate n (\\i -> if i < n - 1 then a[i] - a[i + 1] else 3)
        in (i64.maximum b, b)""",
    "sums of rows": """entry main [n] (_: i64) (_: [n]i64) (b: [n][n]i64) =
        map (\\row -> i64.sum (tabulate n (\\j ->
          if j == 0 || j == n - 1 then row[j] else row[j - 1] - row[j + 1]))) b""",
    "least product": """entry main [n] (_: i64) (a: [n]i64) (_: [n][n]i64) =
        i64.minimum (tabulate n (\\i -> if i == 0 then n else a[i] * a[i - 1]))""",
    "window of a radius": """entry main [n] (k: i64) (a: [n]i64) (_: [n][n]i64) =
        let s = scan (+) 0 a
        in tabulate n (\\i -> let (l, u) = (i64.max 0 (i - k), i64.min n (i + k + 1))
                             in (s[u - 1] - (if l == 0 then 0 else s[l - 1])) / (u - l))""",
    "squares of a radius": """entry main [n] (k: i64) (_: [n]i64) (b: [n][n]i64) =
        let at i j = b[i64.min (n - 1) (i64.max 0 i), i64.min (n - 1) (i64.max 0 j)]
        in tabulate_2d n n (\\i j -> at (i - k) (j + 1) + 3 * at (i + 2 * k) (j - k))""",
    "radius and cases": """entry main [n] (k: i64) (a: [n]i64) (_: [n][n]i64) =
        tabulate n (\\i -> a[i64.max 0 (i - k)]
          + (if i + k >= n || i < k then 7 else a[i + k] * a[i - k]))""",
    "sum of sums": """entry main [n] (_: i64) (_: [n]i64) (b: [n][n]i64) =
        let rows = tabulate_2d n n (\\i j ->
          if i == 0 || j == n - 1 then b[i, j] else b[i, j] * b[i - 1, j + 1])
        in i64.sum (map (\\row -> i64.sum (map (\\x -> x * x) row)) rows)""",
    "until little changes": """entry main [n] (k: i64) (_: [n]i64) (b: [n][n]i64) =
        (loop (b, change, t) = (b, 9, 0) while change > 3 && t <= k do
           let c = tabulate_2d n n (\\i j ->
             if i == 0 || i == n - 1 || j == 0 || j == n - 1 then b[i, j]
             else (b[i - 1, j] + b[i + 1, j] + b[i, j - 1] + b[i, j + 1]) >> 2)
           let far p q = i64.maximum (map2 (\\x y -> i64.abs (x - y)) p q)
           in (c, i64.maximum (map2 far b c), t + 1)).0""",
    "two sums of rows": """entry main [n] (_: i64) (_: [n]i64) (b: [n][n]i64) =
        let rows = tabulate_2d n n (\\i j -> if i > 1 then b[i - 2, j] else j)
        in (i64.sum (map i64.sum rows), map i64.minimum rows)""",
}
