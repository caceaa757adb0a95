//! Numbers that are never below zero, with 64 significant bits and a stated direction of rounding.
//!
//! Every operation says to which side an inexact result goes. A chain of operations that all go up ends at or above
//! the true value, one that all go down at or below it: that is the whole proof behind every bound of this room, and
//! it needs neither a float nor a margin. One operation is off by less than one part in 2^63.

use core::cmp::Ordering;

/// Where an inexact result goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Round {
    Down,
    Up,
}

/// `mantissa` times two to the power of `exponent`. The highest bit of the mantissa is set, but for zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Real {
    mantissa: u64,
    exponent: i64,
}

impl Real {
    pub(super) const ZERO: Self = Self {
        mantissa: 0,
        exponent: 0,
    };

    /// An integer, exactly.
    pub(super) const fn from_u64(value: u64) -> Self {
        if value == 0 {
            return Self::ZERO;
        }
        let shift = value.leading_zeros();
        Self {
            mantissa: value << shift,
            exponent: -(shift as i64),
        }
    }

    /// An integer, to 64 bits.
    pub(super) const fn of(value: u128, round: Round) -> Self {
        Self::normal(value, 0, false, round)
    }

    /// `over / under`. Nothing divided by zero is asked for: it is zero.
    pub(super) const fn ratio(over: u64, under: u64, round: Round) -> Self {
        Self::from_u64(over).div(Self::from_u64(under), round)
    }

    pub(super) const fn is_zero(self) -> bool {
        self.mantissa == 0
    }

    /// The number `wide * 2^exponent`, and a little more when `sticky`.
    const fn normal(wide: u128, exponent: i64, sticky: bool, round: Round) -> Self {
        if wide == 0 {
            return Self::ZERO;
        }
        let bits = 128 - wide.leading_zeros();
        if bits <= 64 {
            // Only exact results are this short: every inexact one fills its mantissa.
            let exact = Self::from_u64(wide as u64);
            return Self {
                mantissa: exact.mantissa,
                exponent: exact.exponent + exponent,
            };
        }
        let cut = bits - 64;
        let mantissa = (wide >> cut) as u64;
        let exponent = exponent + cut as i64;
        let lost = sticky || (wide & ((1 << cut) - 1)) != 0;
        match (lost, round) {
            (false, _) | (true, Round::Down) => Self { mantissa, exponent },
            (true, Round::Up) if mantissa == u64::MAX => Self {
                mantissa: 1 << 63,
                exponent: exponent + 1,
            },
            (true, Round::Up) => Self {
                mantissa: mantissa + 1,
                exponent,
            },
        }
    }

    pub(super) const fn mul(self, other: Self, round: Round) -> Self {
        let wide = self.mantissa as u128 * other.mantissa as u128;
        Self::normal(wide, self.exponent + other.exponent, false, round)
    }

    pub(super) const fn div(self, other: Self, round: Round) -> Self {
        if self.is_zero() || other.is_zero() {
            return Self::ZERO;
        }
        let (over, under) = ((self.mantissa as u128) << 64, other.mantissa as u128);
        // One bit more than the quotient needs keeps the remainder's place below the mantissa.
        let (quotient, rest) = (over / under, over % under != 0);
        let exponent = self.exponent - other.exponent - 64;
        Self::normal(quotient << 1 | rest as u128, exponent - 1, false, round)
    }

    pub(super) const fn add(self, other: Self, round: Round) -> Self {
        if self.is_zero() {
            return other;
        }
        if other.is_zero() {
            return self;
        }
        let (large, small) = if self.exponent >= other.exponent {
            (self, other)
        } else {
            (other, self)
        };
        let apart = large.exponent - small.exponent;
        let (high, low) = ((large.mantissa as u128) << 63, (small.mantissa as u128) << 63);
        let (low, lost) = if apart >= 127 {
            (0, true)
        } else {
            (low >> apart, low & ((1 << apart) - 1) != 0)
        };
        Self::normal(high + low, large.exponent - 63, lost, round)
    }

    /// `self` to the power of `times`, by squaring.
    pub(super) const fn pow(self, mut times: u32, round: Round) -> Self {
        let (mut base, mut power) = (self, Self::from_u64(1));
        while times > 0 {
            if times & 1 == 1 {
                power = power.mul(base, round);
            }
            base = base.mul(base, round);
            times >>= 1;
        }
        power
    }

    /// How many whole `1 / parts` there are in it; as many as fit when there are more.
    pub(super) const fn whole_parts(self, parts: u64) -> u128 {
        let scaled = self.mul(Self::from_u64(parts), Round::Down);
        match scaled.exponent {
            64.. => u128::MAX,
            0..=63 => (scaled.mantissa as u128) << scaled.exponent,
            -63..=-1 => (scaled.mantissa >> -scaled.exponent) as u128,
            _ => 0,
        }
    }
}

impl PartialOrd for Real {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Real {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.is_zero(), other.is_zero()) {
            (false, false) => (self.exponent, self.mantissa).cmp(&(other.exponent, other.mantissa)),
            (zero, other) => other.cmp(&zero),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BOTH: [Round; 2] = [Round::Down, Round::Up];

    /// `a * b` against `c`, without a rounding: all three as integers times a common power of two.
    fn product_against(a: Real, b: Real, c: Real) -> Ordering {
        let wide = u128::from(a.mantissa) * u128::from(b.mantissa);
        let (wide_exponent, mantissa) = (a.exponent + b.exponent, u128::from(c.mantissa));
        let shift = c.exponent - wide_exponent;
        assert!((60..=65).contains(&shift), "{shift}");
        match mantissa.checked_shl(u32::try_from(shift).unwrap()) {
            Some(exact) if exact >> shift == mantissa => wide.cmp(&exact),
            // Two to the power of 128 or more.
            _ => Ordering::Less,
        }
    }

    proptest! {
        #[test]
        fn a_product_lies_between_its_two_roundings_and_they_touch(a in 1_u64.., b in 1_u64..) {
            let (x, y) = (Real::from_u64(a), Real::from_u64(b));
            let [down, up] = BOTH.map(|round| x.mul(y, round));
            prop_assert_ne!(product_against(x, y, down), Ordering::Less);
            prop_assert_ne!(product_against(x, y, up), Ordering::Greater);
            prop_assert!(down == up || down.mantissa.wrapping_add(1) == up.mantissa || up.mantissa == 1 << 63);
        }

        #[test]
        fn a_quotient_times_its_divisor_lies_on_the_side_it_was_rounded_to(a in 1_u64.., b in 1_u64..) {
            let (x, y) = (Real::from_u64(a), Real::from_u64(b));
            let [down, up] = BOTH.map(|round| x.div(y, round));
            prop_assert_ne!(product_against(down, y, x), Ordering::Greater);
            prop_assert_ne!(product_against(up, y, x), Ordering::Less);
        }

        #[test]
        fn a_sum_of_integers_is_what_integers_say(a: u64, b: u64) {
            let exact = u128::from(a) + u128::from(b);
            for round in BOTH {
                let sum = Real::from_u64(a).add(Real::from_u64(b), round);
                prop_assert_eq!(sum, Real::of(exact, round));
            }
        }

        #[test]
        fn a_small_addend_moves_a_sum_up_only_when_it_goes_up(a in 1_u64.., times in 70_u32..400) {
            let (large, half) = (Real::from_u64(a), Real::ratio(1, 2, Round::Down));
            let small = half.pow(times, Round::Down);
            prop_assert_eq!(large.add(small, Round::Down), large);
            prop_assert!(large.add(small, Round::Up) > large);
        }

        #[test]
        fn order_is_that_of_the_integers(a: u64, b: u64) {
            prop_assert_eq!(Real::from_u64(a).cmp(&Real::from_u64(b)), a.cmp(&b));
        }

        #[test]
        fn parts_are_whole(a in 0_u64..1 << 40, b in 1_u64..1 << 40) {
            let exact = u128::from(a) * 1_000_000 / u128::from(b);
            let parts = Real::ratio(a, b, Round::Down).whole_parts(1_000_000);
            prop_assert!(parts == exact || parts + 1 == exact);
        }
    }

    #[test]
    fn exact_powers_stay_exact_and_a_great_one_has_no_end() {
        let two = Real::from_u64(2);
        assert_eq!(two.pow(100, Round::Up), Real::of(1 << 100, Round::Down));
        assert_eq!(two.pow(4_000_000, Round::Up).whole_parts(1), u128::MAX);
        assert_eq!(
            Real::ratio(1, 2, Round::Up).pow(4_000_000, Round::Down).whole_parts(1),
            0
        );
        assert_eq!(Real::ZERO.pow(3, Round::Up), Real::ZERO);
        assert!(Real::ZERO < Real::from_u64(1) && Real::from_u64(1) > Real::ZERO);
    }
}
