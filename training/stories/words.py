"""The words of the little stories: names by pronoun, who people are, things, places, and how they are."""

from __future__ import annotations

HERS = (
    "Anna", "Mia", "Lily", "Rosa", "Emma", "Zoe", "Lucy", "Nora", "Ella", "Ruby", "Alice", "Clara", "Greta", "Hanna", "Ida",
    "Jane", "Kate", "Lena", "Mary", "Nina", "Olga", "Paula", "Sara", "Tina", "Vera", "Wilma", "Daisy", "Ivy", "Molly", "Polly",
    "Betty", "Flora",
)  # fmt: skip
HIS = (
    "Tom", "Ben", "Max", "Leo", "Sam", "Tim", "Jack", "Finn", "Noah", "Oscar", "Paul", "Peter", "Otto", "Hugo", "Ivan", "Karl",
    "Louis", "Mark", "Nils", "Adam", "Bruno", "Carlo", "David", "Emil", "Felix", "George", "Henry", "Jacob", "Simon", "Victor",
    "Walter", "Robin",
)  # fmt: skip
GIRLS = ("girl", "princess", "queen", "woman", "shepherdess")
BOYS = ("boy", "prince", "king", "man", "shepherd")
# he or she by name alone
ANIMALS = ("cat", "dog", "bear", "fox", "mouse", "rabbit", "duck", "frog", "goat", "horse", "owl", "hedgehog")
MANNERS = (
    "a little", "a kind", "an old", "a young", "a brave", "a shy", "a clever", "a funny", "a quiet", "a merry", "a tall",
    "a hungry", "a lonely", "a gentle",
)  # fmt: skip
THINGS = (
    "ball", "kite", "book", "hat", "cup", "drum", "bell", "ring", "key", "lamp", "coin", "boat", "doll", "flute", "spoon",
    "stone", "shell", "feather", "apple", "pear", "cake", "basket", "blanket", "candle", "crown", "whistle", "ribbon", "mirror",
    "scarf", "button", "teddy", "wagon", "pencil", "puzzle", "lantern", "pumpkin", "umbrella", "violin", "map", "rope",
)  # fmt: skip
LOOKS = (
    "a red", "a blue", "a green", "a yellow", "a white", "a black", "a golden", "a silver", "an old", "a new", "a small",
    "a big", "a round", "a shiny", "a soft", "a pretty", "an orange", "a wooden",
)  # fmt: skip
HOMES = (
    "in a little house", "in a village by the sea", "in a castle on a hill", "near the forest", "at the end of the road",
    "on a farm", "in a big town", "under an old tree", "by the river", "in a small hut",
)  # fmt: skip
PLACES = (
    "park", "garden", "forest", "river", "beach", "market", "school", "lake", "meadow", "hill", "bridge", "castle", "farm",
    "mill", "well", "village", "mountain", "pond",
)  # fmt: skip
SPOTS = (
    "under a tree", "in the grass", "behind a rock", "near the water", "on the path", "under a bench", "in the snow",
    "behind the fence", "in the sand", "between the flowers",
)  # fmt: skip
POCKETS = ("bag", "pocket", "basket", "box")
GLAD = ("happy", "glad", "proud", "full of joy")
SAD = ("sad", "worried", "upset", "unhappy")
