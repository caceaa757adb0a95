sed -i 's/    return text.lower.*/    return "-".join(text.lower().split())/; s/    return text\[:width\]/    return text if len(text) <= width else text[: width - 3] + "..."/' words/slug.py
