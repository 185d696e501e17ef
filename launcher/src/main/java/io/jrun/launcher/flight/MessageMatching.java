package io.jrun.launcher.flight;

import io.jrun.launcher.flight.Finding.Kind;
import io.jrun.launcher.flight.Finding.Place;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;

/**
 * Matches the sends and receives of one group: a send and the receive of the same number between the same two ranks belong
 * together. Of a receive from any source nobody is guilty in particular. Confined to one thread.
 */
final class MessageMatching {
    private final Map<Integer, Dump> byRank;
    private final String group;
    private final List<Integer> ranks;

    MessageMatching(Map<Integer, Dump> byRank, String group, List<Integer> ranks) {
        this.byRank = byRank;
        this.group = group;
        this.ranks = ranks;
    }

    /** A finding for each message that did not end; of a pair that both ranks were in, one. */
    List<Finding> findings() {
        List<Finding> findings = new ArrayList<>();
        for (int rank : ranks) {
            Dump dump = byRank.get(rank);
            if (dump != null) {
                dump.unfinished().stream()
                        .filter(operation ->
                                operation.isMessage() && operation.group().equals(group))
                        .forEach(operation -> finding(dump, operation).ifPresent(findings::add));
            }
        }
        return findings;
    }

    private Optional<Finding> finding(Dump mine, Operation message) {
        if (message.isFromAny()) {
            return Optional.of(unanswered(mine, message));
        }
        int other = ranks.get(message.peer());
        Dump theirs = byRank.get(other);
        if (theirs == null) {
            return Optional.of(late(mine, message, new Place(other, "", Optional.empty(), "left no dump")));
        }
        Optional<Operation> answer = answer(theirs, mine.rank(), message);
        if (answer.isEmpty()) {
            String words = "has not called its part of it" + unfinished(theirs);
            return Optional.of(late(mine, message, new Place(other, theirs.host(), Optional.empty(), words)));
        }
        return both(mine, message, theirs, answer.get());
    }

    private Finding unanswered(Dump mine, Operation message) {
        return new Finding(
                Kind.STUCK,
                group,
                message.sequence(),
                new TreeSet<>(),
                "rank " + mine.rank() + " was in " + message.call() + ", for which no message came that fits.",
                List.of(here(mine, message)));
    }

    private Finding late(Dump mine, Operation message, Place there) {
        return new Finding(
                Kind.LATE,
                group,
                message.sequence(),
                new TreeSet<>(List.of(there.rank())),
                said(mine, message, there.rank()) + ", which " + there.words() + ".",
                List.of(here(mine, message), there));
    }

    private Optional<Finding> both(Dump mine, Operation message, Dump theirs, Operation answer) {
        boolean differs = !answer.type().equals(message.type()) || answer.count() != message.count();
        boolean hasDoneItsPart = !differs && !answer.isUnfinished();
        boolean isToldFromTheOtherSide = answer.isUnfinished() && mine.rank() > theirs.rank();
        if (hasDoneItsPart || isToldFromTheOtherSide) {
            return Optional.empty();
        }
        String text = said(mine, message, theirs.rank()) + ", which called " + answer.call()
                + (differs ? ". Both must name the same type and count." : "; neither got to its end.");
        Place there = new Place(theirs.rank(), theirs.host(), Optional.of(answer), "called " + answer.call());
        return Optional.of(new Finding(
                differs ? Kind.MISMATCH : Kind.STUCK,
                group,
                message.sequence(),
                differs ? new TreeSet<>(List.of(mine.rank(), theirs.rank())) : new TreeSet<>(),
                text,
                List.of(here(mine, message), there)));
    }

    private static String said(Dump mine, Operation message, int other) {
        return "rank " + mine.rank() + " was in " + message.call() + " with rank " + other;
    }

    private static Place here(Dump mine, Operation message) {
        return new Place(mine.rank(), mine.host(), Optional.of(message), "was in " + message.call());
    }

    private Optional<Operation> answer(Dump theirs, int sender, Operation message) {
        return theirs.operations().stream()
                .filter(operation -> operation.isMessage()
                        && operation.group().equals(group)
                        && operation.sequence() == message.sequence()
                        && !operation.name().equals(message.name())
                        && !operation.isFromAny()
                        && ranks.get(operation.peer()) == sender
                        && operation.state() != Operation.State.QUEUED)
                .findFirst();
    }

    private static String unfinished(Dump dump) {
        return dump.unfinished().stream()
                .findFirst()
                .map(operation -> ", but was in " + operation.call() + " of group " + operation.group())
                .orElse("");
    }
}
