"""What is this book's alone and no reader reads: theme, story, order of search results, the wheel of its notebooks."""
