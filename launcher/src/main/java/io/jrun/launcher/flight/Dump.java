package io.jrun.launcher.flight;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What one rank has dumped.
 *
 * @param round in which it was
 * @param reason why it was
 * @param groups by name
 * @param operations the last ones, in the order of their calls
 * @param isWhole whether there were no others
 */
record Dump(
        int rank,
        int worldSize,
        String host,
        long pid,
        int round,
        String reason,
        Map<String, Group> groups,
        List<DumpedOperation> operations,
        boolean isWhole) {
    Dump {
        groups = Map.copyOf(groups);
        operations = List.copyOf(operations);
    }

    /**
     * A group as this rank knew it.
     *
     * @param ranks world ranks by group rank
     * @param started how many of its collectives this rank had started
     */
    record Group(String name, List<Integer> ranks, long started) {
        Group {
            ranks = List.copyOf(ranks);
        }
    }

    /** How many collectives of a group this rank had started; none of a group that it had not opened. */
    long started(String group) {
        Group known = groups.get(group);
        return known == null ? 0 : known.started();
    }

    /** A group's collective, if it is kept. */
    Optional<DumpedOperation> collective(String group, long sequence) {
        return operations.stream()
                .filter(operation -> !operation.isMessage()
                        && operation.sequence() == sequence
                        && operation.group().equals(group))
                .findFirst();
    }

    /** What this rank was in, in whatever group, when it dumped. */
    List<DumpedOperation> unfinished() {
        return operations.stream().filter(DumpedOperation::isUnfinished).toList();
    }
}
