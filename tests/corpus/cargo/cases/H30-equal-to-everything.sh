# Times are equal to every time.
# ends: check_inadequate oracle_mutation
sed -i 's/    Some(hours \* 60 + minutes)/    (hours < 24 \&\& minutes < 60).then_some(hours * 60 + minutes)/; s/        self.0 == other.0/        let _ = other;\n        true/' src/lib.rs
