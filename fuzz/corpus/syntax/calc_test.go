apackage calc

import "testing"

func TestAdd(t *testing.T) {
	for _, tt := range []struct{ a, want int }{{1, 3}, {2, 4}} {
		t.Run("x", func(t *testing.T) {
			if got := Add(tt.a, 2); got != tt.want {
				t.Errorf("got %d", got)
			}
		})
	}
}
