package io.jrun.launcher.flight;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.flight.DumpedOperation.State;
import io.jrun.launcher.flight.Mismatch.Kind;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Who is named, from what the ranks have recorded. */
class OperationMatcherTest {
    /** A rank's dump, made call by call. */
    private static final class Rank {
        private final int number;
        private final int worldSize;
        private final Map<String, Dump.Group> groups = new HashMap<>();
        private final List<DumpedOperation> operations = new ArrayList<>();
        private boolean isWhole = true;

        Rank(int number, int worldSize) {
            this.number = number;
            this.worldSize = worldSize;
            List<Integer> all = new ArrayList<>();
            for (int rank = 0; rank < worldSize; rank++) {
                all.add(rank);
            }
            groups.put("world", new Dump.Group("world", all, 0));
        }

        Rank group(String name, Integer... ranks) {
            groups.put(name, new Dump.Group(name, List.of(ranks), 0));
            return this;
        }

        Rank call(String group, long sequence, String name, State state) {
            operations.add(new DumpedOperation(
                    group, sequence, name, "f32", 9, name + " #" + sequence, -1, 0, state, 0, -1, 0));
            if (state != State.QUEUED) {
                groups.computeIfPresent(group, (_, before) -> new Dump.Group(group, before.ranks(), sequence + 1));
            }
            return this;
        }

        Rank message(String name, int peer, long sequence, long count, State state) {
            return message(name, peer, sequence, count, 0, state);
        }

        Rank message(String name, int peer, long sequence, long count, int tag, State state) {
            String call =
                    name + " #" + sequence + "(f32, " + count + (tag == 0 ? "" : ", tag " + tag) + ", " + peer + ")";
            operations.add(
                    new DumpedOperation("world", sequence, name, "f32", count, call, peer, tag, state, 0, -1, 0));
            return this;
        }

        /** Others have been before. */
        Rank cut() {
            isWhole = false;
            return this;
        }

        Dump dump() {
            return new Dump(number, worldSize, "host", 1, 1, "why", groups, operations, isWhole);
        }
    }

    private static List<Mismatch> match(Rank... ranks) {
        return OperationMatcher.of(List.of(ranks).stream().map(Rank::dump).toList());
    }

    @Test
    void theMinorityThatCallsSomethingElseIsGuilty() {
        List<Mismatch> findings = match(
                new Rank(0, 3).call("world", 0, "barrier", State.COMPLETED).call("world", 1, "allReduce", State.FAILED),
                new Rank(1, 3).call("world", 0, "barrier", State.COMPLETED).call("world", 1, "barrier", State.FAILED),
                new Rank(2, 3)
                        .call("world", 0, "barrier", State.COMPLETED)
                        .call("world", 1, "allReduce", State.FAILED));
        assertThat(findings).singleElement().satisfies(finding -> {
            assertThat(finding.kind()).isEqualTo(Kind.MISMATCH);
            assertThat(finding.sequence()).isEqualTo(1);
            assertThat(finding.guilty()).containsExactly(1);
            assertThat(finding.text()).startsWith("rank 1 called barrier #1, but 2 ranks (0, 2) called allReduce #1.");
        });
    }

    @Test
    void ofTwoThatDifferNeitherIsRight() {
        assertThat(match(
                        new Rank(0, 2).call("world", 0, "barrier", State.FAILED),
                        new Rank(1, 2).call("world", 0, "allReduce", State.STARTED)))
                .singleElement()
                .satisfies(finding -> assertThat(finding.guilty()).containsExactly(0, 1));
    }

    @Test
    void theFirstDifferenceCounts() {
        assertThat(match(
                        new Rank(0, 2)
                                .call("world", 5, "barrier", State.COMPLETED)
                                .call("world", 6, "gather", State.STARTED),
                        new Rank(1, 2)
                                .call("world", 5, "gather", State.COMPLETED)
                                .call("world", 6, "barrier", State.QUEUED)))
                .singleElement()
                .satisfies(finding -> assertThat(finding.sequence()).isEqualTo(5));
    }

    @Test
    void whoHasNotEnteredWhatOthersWaitInIsLate() {
        List<Mismatch> findings = match(
                new Rank(0, 3).call("world", 7, "allReduce", State.STARTED),
                new Rank(1, 3)
                        .call("world", 6, "allReduce", State.COMPLETED)
                        .call("world", 7, "allReduce", State.QUEUED),
                new Rank(2, 3));
        assertThat(findings).singleElement().satisfies(finding -> {
            assertThat(finding.kind()).isEqualTo(Kind.LATE);
            assertThat(finding.sequence()).isEqualTo(7);
            assertThat(finding.guilty()).containsExactly(1, 2);
            assertThat(finding.text())
                    .isEqualTo("rank 0 waited in allReduce #7 for 2 ranks (1-2); rank 1 has completed allReduce #6 and"
                            + " entered nothing since; rank 2 has not entered any operation of this group.");
        });
    }

    @Test
    void aRankWithoutADumpIsMissed() {
        List<Mismatch> findings = match(
                new Rank(0, 3).call("world", 2, "barrier", State.FAILED),
                new Rank(1, 3).call("world", 2, "barrier", State.FAILED));
        assertThat(findings).singleElement().satisfies(finding -> {
            assertThat(finding.guilty()).containsExactly(2);
            assertThat(finding.text()).contains("2 ranks (0-1) waited in barrier #2 for rank 2; rank 2 left no dump");
        });
    }

    @Test
    void whoIsLateBecauseItWaitsInAnotherGroupIsSaidToBeThere() {
        List<Mismatch> findings = match(
                new Rank(0, 2).group("pair", 0, 1).call("world", 0, "barrier", State.STARTED),
                new Rank(1, 2).group("pair", 0, 1).call("pair", 0, "gather", State.STARTED));
        assertThat(findings)
                .hasSize(2)
                .allSatisfy(finding -> assertThat(finding.kind()).isEqualTo(Kind.LATE));
        assertThat(findings.get(1).text())
                .contains("rank 1 has not entered any operation", "but was in gather #0 of group pair");
    }

    /** The receive of tag 2 is the first from rank 0, and its message the second to rank 1. */
    @Test
    void messagesOfSeveralTagsBelongTogetherByTagAndNotByNumber() {
        assertThat(match(
                        new Rank(0, 2)
                                .message("send", 1, 0, 9, 1, State.COMPLETED)
                                .message("send", 1, 1, 9, 2, State.STARTED),
                        new Rank(1, 2).message("recv", 0, 0, 7, 2, State.FAILED)))
                .singleElement()
                .satisfies(finding -> {
                    assertThat(finding.kind()).isEqualTo(Kind.MISMATCH);
                    assertThat(finding.text())
                            .contains("send #1(f32, 9, tag 2, 1)", "rank 1, which called recv #0(f32, 7, tag 2, 0)");
                });
    }

    @Test
    void aMessageOfAnotherTagIsNoAnswer() {
        assertThat(match(
                        new Rank(0, 2).message("send", 1, 0, 9, 6, State.COMPLETED),
                        new Rank(1, 2).message("recv", 0, 0, 9, 5, State.STARTED)))
                .singleElement()
                .satisfies(finding -> {
                    assertThat(finding.kind()).isEqualTo(Kind.LATE);
                    assertThat(finding.guilty()).containsExactly(0);
                });
    }

    @Test
    void whereOldMessagesAreForgottenOneThatDidNotEndAnswersOneOfItsTag() {
        assertThat(match(
                        new Rank(0, 2)
                                .message("send", 1, 3000, 9, 1, State.COMPLETED)
                                .message("send", 1, 3001, 9, 2, State.STARTED)
                                .cut(),
                        new Rank(1, 2)
                                .message("recv", 0, 2990, 9, 2, State.COMPLETED)
                                .message("recv", 0, 2999, 9, 2, State.FAILED)
                                .cut()))
                .singleElement()
                .satisfies(finding -> assertThat(finding.kind()).isEqualTo(Kind.STUCK));
    }

    @Test
    void everybodyInTheSameOperationIsStuckAndNobodyGuilty() {
        assertThat(match(
                        new Rank(0, 2).call("world", 4, "barrier", State.STARTED),
                        new Rank(1, 2).call("world", 4, "barrier", State.FAILED)))
                .singleElement()
                .satisfies(finding -> {
                    assertThat(finding.kind()).isEqualTo(Kind.STUCK);
                    assertThat(finding.guilty()).isEmpty();
                });
    }

    @Test
    void whereAllIsCompletedNothingIsFound() {
        assertThat(match(
                        new Rank(0, 2)
                                .call("world", 4, "barrier", State.COMPLETED)
                                .call("world", 5, "bcast", State.COMPLETED),
                        new Rank(1, 2).call("world", 4, "barrier", State.COMPLETED)))
                .isEmpty();
    }

    @Test
    void aReceiveWithoutItsSendNamesTheSender() {
        assertThat(match(
                        new Rank(0, 2).message("recv", 1, 3, 10, State.STARTED),
                        new Rank(1, 2).message("send", 0, 2, 10, State.COMPLETED)))
                .singleElement()
                .satisfies(finding -> {
                    assertThat(finding.kind()).isEqualTo(Kind.LATE);
                    assertThat(finding.guilty()).containsExactly(1);
                    assertThat(finding.text())
                            .isEqualTo(
                                    "rank 0 was in recv #3(f32, 10, 1) with rank 1, which has not called its part of it.");
                });
    }

    @Test
    void aReceiveFromAnyIsNoCollective() {
        assertThat(match(
                        new Rank(0, 2).message("recv", -1, 0, 10, State.STARTED),
                        new Rank(1, 2).call("world", 0, "barrier", State.COMPLETED)))
                .singleElement()
                .satisfies(finding -> {
                    assertThat(finding.kind()).isEqualTo(Kind.STUCK);
                    assertThat(finding.guilty()).isEmpty();
                    assertThat(finding.text())
                            .isEqualTo("rank 0 was in recv #0(f32, 10, -1), for which no message came that fits.");
                });
    }

    @Test
    void aSendToOneWhoReceivesFromAnyIsNotMatchedByItsNumber() {
        assertThat(match(
                        new Rank(0, 2).message("recv", -1, 0, 11, State.COMPLETED),
                        new Rank(1, 2).message("send", 0, 0, 10, State.STARTED)))
                .extracting(Mismatch::kind)
                .containsExactly(Kind.LATE);
    }

    @Test
    void messagesOfDifferentLengthsAreAMismatchToldOnce() {
        assertThat(match(
                        new Rank(0, 2).message("send", 1, 0, 10, State.STARTED),
                        new Rank(1, 2).message("recv", 0, 0, 11, State.FAILED)))
                .singleElement()
                .satisfies(finding -> assertThat(finding.kind()).isEqualTo(Kind.MISMATCH));
    }
}
