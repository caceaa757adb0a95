epub fn add(a: i32, b: i32) -> i32 { if a > 1 { a + b } else { b - a } }

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn adds() { assert_eq!(add(1, 2), 3, "why"); assert!(add(0, 0) == 0); }
    #[test]
    #[should_panic]
    fn fails() { add(i32::MAX, 1); }
}
