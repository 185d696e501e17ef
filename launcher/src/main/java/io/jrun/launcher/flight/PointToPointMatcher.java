package io.jrun.launcher.flight;

import io.jrun.comm.record.OperationRecord;
import io.jrun.comm.record.OperationState;
import io.jrun.comm.record.RankRecord;
import io.jrun.launcher.flight.Mismatch.Kind;
import io.jrun.launcher.flight.Mismatch.RankPlace;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;

/**
 * Matches the sends and receives of one group. The nth send with a tag from one rank to another belongs to the nth
 * receive with this tag. No rank is guilty of an unanswered receive from any rank. Confined to one thread.
 */
final class PointToPointMatcher {
    private final Map<Integer, RankRecord> byRank;
    private final String group;
    private final List<Integer> ranks;

    PointToPointMatcher(Map<Integer, RankRecord> byRank, String group, List<Integer> ranks) {
        this.byRank = byRank;
        this.group = group;
        this.ranks = ranks;
    }

    /** One finding for each message that did not end, and one for a pair of which neither end ended. */
    List<Mismatch> findings() {
        List<Mismatch> findings = new ArrayList<>();
        for (int rank : ranks) {
            RankRecord dump = OperationMatcher.record(byRank, rank);
            dump.unfinished().stream()
                    .filter(operation ->
                            operation.isMessage() && operation.group().equals(group))
                    .forEach(operation -> finding(dump, operation).ifPresent(findings::add));
        }
        return findings;
    }

    private Optional<Mismatch> finding(RankRecord mine, OperationRecord message) {
        if (message.isFromAny()) {
            return Optional.of(unanswered(mine, message));
        }
        int other = ranks.get(message.peer());
        RankRecord theirs = OperationMatcher.record(byRank, other);
        Optional<OperationRecord> answer = answer(mine, message, theirs);
        if (answer.isEmpty()) {
            String words = theirs.place(group);
            return Optional.of(late(mine, message, new RankPlace(other, theirs.host(), Optional.empty(), words)));
        }
        return both(mine, message, theirs, answer.get());
    }

    private Mismatch unanswered(RankRecord mine, OperationRecord message) {
        return new Mismatch(
                Kind.STUCK,
                group,
                message.sequence(),
                new TreeSet<>(),
                "rank " + mine.rank() + " was in " + message.call() + ". No matching message came.",
                List.of(here(mine, message)));
    }

    private Mismatch late(RankRecord mine, OperationRecord message, RankPlace there) {
        return new Mismatch(
                Kind.LATE,
                group,
                message.sequence(),
                new TreeSet<>(List.of(there.rank())),
                position(mine, message, there.rank()) + ", and no matching call of rank " + there.rank()
                        + " is known: rank " + there.rank() + " " + there.words() + ".",
                List.of(here(mine, message), there));
    }

    private Optional<Mismatch> both(
            RankRecord mine, OperationRecord message, RankRecord theirs, OperationRecord answer) {
        boolean differs = !answer.type().equals(message.type()) || answer.count() != message.count();
        boolean hasDoneItsPart = !differs && !answer.isUnfinished();
        boolean isReportedByTheOtherSide = answer.isUnfinished() && mine.rank() > theirs.rank();
        if (hasDoneItsPart || isReportedByTheOtherSide) {
            return Optional.empty();
        }
        String text = position(mine, message, theirs.rank()) + ", which called " + answer.call()
                + (differs ? ". Both must name the same type and count." : "; neither call ended.");
        RankPlace there = new RankPlace(theirs.rank(), theirs.host(), Optional.of(answer), "called " + answer.call());
        return Optional.of(new Mismatch(
                differs ? Kind.MISMATCH : Kind.STUCK,
                group,
                message.sequence(),
                differs ? new TreeSet<>(List.of(mine.rank(), theirs.rank())) : new TreeSet<>(),
                text,
                List.of(here(mine, message), there)));
    }

    private static String position(RankRecord mine, OperationRecord message, int other) {
        return "rank " + mine.rank() + " was in " + message.call() + " with rank " + other;
    }

    private static RankPlace here(RankRecord mine, OperationRecord message) {
        return new RankPlace(mine.rank(), mine.host(), Optional.of(message), "was in " + message.call());
    }

    /**
     * The other end of a message. Messages with one tag arrive in the order of their sends, so both ends have the same
     * position among the messages with the tag. If a dump lacks older messages, the first unfinished message with the
     * tag is taken.
     */
    private Optional<OperationRecord> answer(RankRecord mine, OperationRecord message, RankRecord theirs) {
        List<OperationRecord> sameKind = between(mine, message.name(), theirs.rank());
        List<OperationRecord> answers = between(theirs, message.isSend() ? "recv" : "send", mine.rank());
        List<OperationRecord> sameTag = ofTag(answers, message.tag());
        Optional<OperationRecord> answer;
        if (sameTag.size() == answers.size() && ofTag(sameKind, message.tag()).size() == sameKind.size()) {
            answer = sameTag.stream()
                    .filter(other -> other.sequence() == message.sequence())
                    .findFirst();
        } else if (mine.isWhole() && theirs.isWhole()) {
            int place = ofTag(sameKind, message.tag()).indexOf(message);
            answer = sameTag.stream().skip(place).findFirst();
        } else {
            answer = sameTag.stream().filter(OperationRecord::isUnfinished).findFirst();
        }
        return answer.filter(other -> other.state() != OperationState.QUEUED);
    }

    /** The sends of a rank to another rank, or its receives from that rank. */
    private List<OperationRecord> between(RankRecord dump, String name, int other) {
        return dump.operations().stream()
                .filter(operation -> operation.name().equals(name)
                        && operation.group().equals(group)
                        && !operation.isFromAny()
                        && ranks.get(operation.peer()) == other)
                .sorted(Comparator.comparingLong(OperationRecord::sequence))
                .toList();
    }

    private static List<OperationRecord> ofTag(List<OperationRecord> messages, int tag) {
        return messages.stream().filter(message -> message.tag() == tag).toList();
    }
}
