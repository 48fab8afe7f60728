"""Prime sampling rates: an even rate would see only every second request of a client that alternates."""

from __future__ import annotations


def prime_at_most(number: int) -> int:
    """The largest prime up to a number; 1 below 2."""
    return next((n for n in range(number, 1, -1) if _is_prime(n)), 1)


def prime_at_least(number: int) -> int:
    """The smallest prime from a number on; 1 for up to 1."""
    if number <= 1:
        return 1
    while not _is_prime(number):
        number += 1
    return number


def _is_prime(number: int) -> bool:
    return all(number % divisor for divisor in range(2, int(number**0.5) + 1))
