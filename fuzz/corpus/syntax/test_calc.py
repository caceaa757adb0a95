dimport pytest

@pytest.mark.parametrize('a, want', [(1, 3), (2, 4)])
def test_add(a, want):
    assert add(a, 2) == want, 'message'

class TestMore:
    def test_raises(self):
        with pytest.raises(ValueError):
            add(None, 1)
        self.assertEqual(add(0, 0), 0)
