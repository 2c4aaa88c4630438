"""What the build does with snippets and acts: run, bake, pack, publish."""
