"""Mattern95: the programs of Figures 1 to 8, and one with two senders, in the order of the table."""

FIG_1 = "P1: s a->2; r. P2: s b->1; r"
FIG_4 = "P1: s x->3; s y->2. P2: r; s z->3. P3: {}; {}"
FIG_7 = "P1: s e->2; s d->3; {}; {}. P2: s c->3; s b->1; {}; {}. P3: s a->1; s f->2; {}; {}"
FIG_4_ANY = FIG_4.format("r", "r")
FIG_4_2_1 = FIG_4.format("r from 2", "r from 1")
FIG_4_1_2 = FIG_4.format("r from 1", "r from 2")
FIG_7_ANY = FIG_7.format("r", "r", "r", "r", "r", "r")
FIG_7_SELECTIVE = FIG_7.format("r from 3", "r from 2", "r from 1", "r from 3", "r from 2", "r from 1")
FIG_8_SELECTIVE = FIG_7.format("r from 2", "r from 3", "r from 3", "r from 1", "r from 1", "r from 2")
TWO_SENDERS = "P1: s x->2. P2: r from 1; r from 3. P3: s y->2"

TABLE = {
    "fig-1": FIG_1,
    "fig-4-any": FIG_4_ANY,
    "fig-4-from-2-from-1": FIG_4_2_1,
    "fig-4-from-1-from-2": FIG_4_1_2,
    "fig-7-any": FIG_7_ANY,
    "fig-7-selective": FIG_7_SELECTIVE,
    "fig-8-selective": FIG_8_SELECTIVE,
    "two-senders": TWO_SENDERS,
}
