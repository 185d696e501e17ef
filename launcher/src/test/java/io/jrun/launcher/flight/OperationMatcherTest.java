package io.jrun.launcher.flight;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.record.GroupRecord;
import io.jrun.comm.record.OperationRecord;
import io.jrun.comm.record.OperationState;
import io.jrun.comm.record.RankRecord;
import io.jrun.launcher.flight.Mismatch.Kind;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Finds the guilty ranks from the records of the ranks. */
class OperationMatcherTest {
    /** A rank's dump, made call by call. */
    private static final class Rank {
        private final int number;
        private final int worldSize;
        private final Map<String, GroupRecord> groups = new HashMap<>();
        private final List<OperationRecord> operations = new ArrayList<>();
        private boolean isWhole = true;

        Rank(int number, int worldSize) {
            this.number = number;
            this.worldSize = worldSize;
            List<Integer> all = new ArrayList<>();
            for (int rank = 0; rank < worldSize; rank++) {
                all.add(rank);
            }
            groups.put("world", group("world", all, 0));
        }

        Rank group(String name, Integer... ranks) {
            groups.put(name, group(name, List.of(ranks), 0));
            return this;
        }

        Rank call(String group, long sequence, String name, OperationState state) {
            operations.add(operation(group, sequence, name, 9, name + " #" + sequence, -1, 0, state));
            if (state != OperationState.QUEUED) {
                groups.computeIfPresent(group, (_, before) -> group(group, before.ranks(), sequence + 1));
            }
            return this;
        }

        Rank message(String name, int peer, long sequence, long count, OperationState state) {
            return message(name, peer, sequence, count, 0, state);
        }

        Rank message(String name, int peer, long sequence, long count, int tag, OperationState state) {
            String call =
                    name + " #" + sequence + "(f32, " + count + (tag == 0 ? "" : ", tag " + tag) + ", " + peer + ")";
            operations.add(operation("world", sequence, name, count, call, peer, tag, state));
            return this;
        }

        /** Others have been before. */
        Rank cut() {
            isWhole = false;
            return this;
        }

        RankRecord dump() {
            return new RankRecord(
                    number,
                    worldSize,
                    "host",
                    1,
                    1,
                    1,
                    "why",
                    List.copyOf(groups.values()),
                    operations,
                    isWhole,
                    Optional.empty(),
                    "");
        }

        private static GroupRecord group(String name, List<Integer> ranks, long started) {
            return new GroupRecord(name, ranks, started, started, 0, List.of());
        }

        private static OperationRecord operation(
                String group,
                long sequence,
                String name,
                long count,
                String call,
                int peer,
                int tag,
                OperationState state) {
            return new OperationRecord(
                    group, sequence, name, "f32", count, call, peer, tag, state, 0, 0, OperationRecord.NEVER, -1, 0);
        }
    }

    private static List<Mismatch> match(Rank... ranks) {
        return OperationMatcher.of(List.of(ranks).stream().map(Rank::dump).toList());
    }

    @Test
    void theMinorityThatCallsSomethingElseIsGuilty() {
        List<Mismatch> findings = match(
                new Rank(0, 3)
                        .call("world", 0, "barrier", OperationState.COMPLETED)
                        .call("world", 1, "allReduce", OperationState.FAILED),
                new Rank(1, 3)
                        .call("world", 0, "barrier", OperationState.COMPLETED)
                        .call("world", 1, "barrier", OperationState.FAILED),
                new Rank(2, 3)
                        .call("world", 0, "barrier", OperationState.COMPLETED)
                        .call("world", 1, "allReduce", OperationState.FAILED));
        assertThat(findings).singleElement().satisfies(finding -> {
            assertThat(finding.kind()).isEqualTo(Kind.MISMATCH);
            assertThat(finding.sequence()).isEqualTo(1);
            assertThat(finding.guilty()).containsExactly(1);
            assertThat(finding.text()).startsWith("rank 1 called barrier #1, but 2 ranks (0, 2) called allReduce #1.");
        });
    }

    @Test
    void twoDifferentCallsAreBothGuilty() {
        assertThat(match(
                        new Rank(0, 2).call("world", 0, "barrier", OperationState.FAILED),
                        new Rank(1, 2).call("world", 0, "allReduce", OperationState.STARTED)))
                .singleElement()
                .satisfies(finding -> assertThat(finding.guilty()).containsExactly(0, 1));
    }

    @Test
    void theFirstDifferenceCounts() {
        assertThat(match(
                        new Rank(0, 2)
                                .call("world", 5, "barrier", OperationState.COMPLETED)
                                .call("world", 6, "gather", OperationState.STARTED),
                        new Rank(1, 2)
                                .call("world", 5, "gather", OperationState.COMPLETED)
                                .call("world", 6, "barrier", OperationState.QUEUED)))
                .singleElement()
                .satisfies(finding -> assertThat(finding.sequence()).isEqualTo(5));
    }

    @Test
    void aRankThatHasNotEnteredTheCollectiveIsLate() {
        List<Mismatch> findings = match(
                new Rank(0, 3).call("world", 7, "allReduce", OperationState.STARTED),
                new Rank(1, 3)
                        .call("world", 6, "allReduce", OperationState.COMPLETED)
                        .call("world", 7, "allReduce", OperationState.QUEUED),
                new Rank(2, 3));
        assertThat(findings).singleElement().satisfies(finding -> {
            assertThat(finding.kind()).isEqualTo(Kind.LATE);
            assertThat(finding.sequence()).isEqualTo(7);
            assertThat(finding.guilty()).containsExactly(1, 2);
            assertThat(finding.text())
                    .isEqualTo("rank 0 waited in allReduce #7 for 2 ranks (1-2); rank 1 has completed allReduce #6 on"
                            + " group world and has entered no other operation of that group; rank 2 has entered no"
                            + " operation of group world.");
        });
    }

    @Test
    void aRankWithoutADumpIsMissed() {
        List<Mismatch> findings = match(
                new Rank(0, 3).call("world", 2, "barrier", OperationState.FAILED),
                new Rank(1, 3).call("world", 2, "barrier", OperationState.FAILED));
        assertThat(findings).singleElement().satisfies(finding -> {
            assertThat(finding.guilty()).containsExactly(2);
            assertThat(finding.text())
                    .contains("2 ranks (0-1) waited in barrier #2 for rank 2; rank 2 has left no dump");
        });
    }

    @Test
    void aLateRankThatWaitsInAnotherGroupIsReportedThere() {
        List<Mismatch> findings = match(
                new Rank(0, 2).group("pair", 0, 1).call("world", 0, "barrier", OperationState.STARTED),
                new Rank(1, 2).group("pair", 0, 1).call("pair", 0, "gather", OperationState.STARTED));
        assertThat(findings)
                .hasSize(2)
                .allSatisfy(finding -> assertThat(finding.kind()).isEqualTo(Kind.LATE));
        assertThat(findings.get(1).text())
                .contains(
                        "rank 1 has entered no operation of group world, and has been in gather #0 on group of ranks 0-1 for 0 s");
    }

    /** The receive of tag 2 is the first from rank 0, and its message the second to rank 1. */
    @Test
    void messagesOfSeveralTagsBelongTogetherByTagAndNotByNumber() {
        assertThat(match(
                        new Rank(0, 2)
                                .message("send", 1, 0, 9, 1, OperationState.COMPLETED)
                                .message("send", 1, 1, 9, 2, OperationState.STARTED),
                        new Rank(1, 2).message("recv", 0, 0, 7, 2, OperationState.FAILED)))
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
                        new Rank(0, 2).message("send", 1, 0, 9, 6, OperationState.COMPLETED),
                        new Rank(1, 2).message("recv", 0, 0, 9, 5, OperationState.STARTED)))
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
                                .message("send", 1, 3000, 9, 1, OperationState.COMPLETED)
                                .message("send", 1, 3001, 9, 2, OperationState.STARTED)
                                .cut(),
                        new Rank(1, 2)
                                .message("recv", 0, 2990, 9, 2, OperationState.COMPLETED)
                                .message("recv", 0, 2999, 9, 2, OperationState.FAILED)
                                .cut()))
                .singleElement()
                .satisfies(finding -> assertThat(finding.kind()).isEqualTo(Kind.STUCK));
    }

    @Test
    void allRanksInTheSameOperationAreStuckAndNoRankIsGuilty() {
        assertThat(match(
                        new Rank(0, 2).call("world", 4, "barrier", OperationState.STARTED),
                        new Rank(1, 2).call("world", 4, "barrier", OperationState.FAILED)))
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
                                .call("world", 4, "barrier", OperationState.COMPLETED)
                                .call("world", 5, "bcast", OperationState.COMPLETED),
                        new Rank(1, 2).call("world", 4, "barrier", OperationState.COMPLETED)))
                .isEmpty();
    }

    @Test
    void aReceiveWithoutItsSendNamesTheSender() {
        assertThat(match(
                        new Rank(0, 2).message("recv", 1, 3, 10, OperationState.STARTED),
                        new Rank(1, 2).message("send", 0, 2, 10, OperationState.COMPLETED)))
                .singleElement()
                .satisfies(finding -> {
                    assertThat(finding.kind()).isEqualTo(Kind.LATE);
                    assertThat(finding.guilty()).containsExactly(1);
                    assertThat(finding.text())
                            .isEqualTo(
                                    "rank 0 was in recv #3(f32, 10, 1) with rank 1, and no matching call of rank 1 is known: rank 1"
                                            + " has completed send #2(f32, 10, 0) on group world and has entered no other operation"
                                            + " of that group.");
                });
    }

    @Test
    void aReceiveFromAnyIsNoCollective() {
        assertThat(match(
                        new Rank(0, 2).message("recv", -1, 0, 10, OperationState.STARTED),
                        new Rank(1, 2).call("world", 0, "barrier", OperationState.COMPLETED)))
                .singleElement()
                .satisfies(finding -> {
                    assertThat(finding.kind()).isEqualTo(Kind.STUCK);
                    assertThat(finding.guilty()).isEmpty();
                    assertThat(finding.text())
                            .isEqualTo("rank 0 was in recv #0(f32, 10, -1). No matching message came.");
                });
    }

    @Test
    void aSendToOneWhoReceivesFromAnyIsNotMatchedByItsNumber() {
        assertThat(match(
                        new Rank(0, 2).message("recv", -1, 0, 11, OperationState.COMPLETED),
                        new Rank(1, 2).message("send", 0, 0, 10, OperationState.STARTED)))
                .extracting(Mismatch::kind)
                .containsExactly(Kind.LATE);
    }

    @Test
    void messagesOfDifferentLengthsAreAMismatchReportedOnce() {
        assertThat(match(
                        new Rank(0, 2).message("send", 1, 0, 10, OperationState.STARTED),
                        new Rank(1, 2).message("recv", 0, 0, 11, OperationState.FAILED)))
                .singleElement()
                .satisfies(finding -> assertThat(finding.kind()).isEqualTo(Kind.MISMATCH));
    }
}
