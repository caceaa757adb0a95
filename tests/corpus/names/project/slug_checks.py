import unittest

from words.slug import shorten, slug


class SlugTest(unittest.TestCase):
    def test_lower(self):
        self.assertEqual(slug("Hello World"), "hello-world")

    def test_many_spaces(self):
        self.assertEqual(slug("a   b"), "a-b")

    def test_ends(self):
        self.assertEqual(slug(" a b "), "a-b")


class ShortenTest(unittest.TestCase):
    def test_short(self):
        self.assertEqual(shorten("abc", 5), "abc")

    def test_long(self):
        self.assertEqual(shorten("abcdefgh", 5), "ab...")


if __name__ == "__main__":
    unittest.main()
