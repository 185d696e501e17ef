package io.jrun.comm.shm;

import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Fingerprint;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.LateRankWarning;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The position of each rank of the group, from its slot of the control block and its departure. Stateless except for
 * those.
 */
final class RankPositions {
    /** The limit of listed ranks, because errors travel in {@link ControlBlock#MAX_TEXT_BYTES}. */
    private static final int MAX_RANKS = 8;

    private final GroupContext group;
    private final ControlBlock block;

    RankPositions(GroupContext group, ControlBlock block) {
        this.group = group;
        this.block = block;
    }

    /**
     * Returns the predicate of "rank 3 ..." in the words of {@code RankRecord.place}, such as
     * {@code is in allReduce #7(f32, 100, SUM)}. For a departed rank:
     * {@code was killed by SIGKILL in allReduce #7(f32, 100, SUM)}.
     */
    String of(int rank) {
        String left = group.health().departure(rank);
        boolean isPresent = SharedWords.acquire(block.present(rank)) != 0;
        long entered = isPresent ? entered(rank) : 0;
        if (entered == 0) {
            return left == null ? "has entered no operation" : left + " before its first operation";
        }
        String call = call(block.entry(rank, entered - 1));
        if (SharedWords.acquire(block.finished(rank)) < entered) {
            return (left == null ? "is" : left) + " in " + call;
        }
        return left == null ? "has completed " + call + " and has entered no other operation" : left + " after " + call;
    }

    /** Returns the sequence of the last entered operation, plus one; 0 before the first operation. */
    private long entered(int rank) {
        return Math.max(SharedWords.acquire(block.entry(rank, 0)), SharedWords.acquire(block.entry(rank, 1)));
    }

    private static String call(long entry) {
        return Fingerprint.describe(
                SharedWords.plain(ControlBlock.calledAs(entry)),
                SharedWords.plain(ControlBlock.fingerprint(entry)),
                SharedWords.plain(ControlBlock.count(entry)));
    }

    /** Returns the awaited ranks of a collective or of a message, for the warning. */
    LateRankWarning.Awaited awaiting(Call call, int peer) {
        return new LateRankWarning.Awaited() {
            @Override
            public String description() {
                return awaited(call, peer);
            }

            @Override
            public List<Integer> ranks() {
                return wanted(call, peer);
            }

            @Override
            public List<Integer> missing() {
                return call.kind().isMessage() ? List.of() : RankPositions.this.missing(call);
            }
        };
    }

    /** Returns the peer of a message, or all ranks for a collective, with the ranks that have not entered first. */
    List<Integer> wanted(Call call, int peer) {
        if (call.kind().isMessage()) {
            return List.of(peer);
        }
        List<Integer> wanted = new ArrayList<>(missing(call));
        wanted.add(peer);
        for (int rank = 0; rank < group.size(); rank++) {
            wanted.add(rank);
        }
        return wanted;
    }

    /** Returns the group ranks that have not entered a collective. */
    List<Integer> missing(Call call) {
        List<Integer> missing = new ArrayList<>();
        for (int rank = 0; rank < group.size(); rank++) {
            if (SharedWords.acquire(block.entry(rank, call.sequence())) != call.sequence() + 1) {
                missing.add(rank);
            }
        }
        return missing;
    }

    /** Describes the positions of all ranks in one sentence. Ranks with equal positions are listed together. */
    String all() {
        Map<String, List<String>> ranks = new LinkedHashMap<>();
        for (int rank = 0; rank < group.size(); rank++) {
            ranks.computeIfAbsent(of(rank), _ -> new ArrayList<>())
                    .add("rank " + group.members().get(rank).rank());
        }
        List<String> parts = new ArrayList<>();
        ranks.forEach(
                (place, same) -> parts.add(listed(same, ", ") + " " + (same.size() == 1 ? place : plural(place))));
        return "Positions of the ranks: " + listed(parts, "; ") + ".";
    }

    /**
     * Describes the missing ranks of a collective with their positions, or {@code peer} for a message and if no rank is
     * missing.
     */
    String awaited(Call call, int peer) {
        List<Integer> late = call.kind().isMessage() ? List.of() : missing(call);
        return listed(
                (late.isEmpty() ? List.of(peer) : late)
                        .stream()
                                .map(rank -> group.describe(rank) + ", which " + of(rank))
                                .toList(),
                "; ");
    }

    private static String plural(String predicate) {
        return predicate
                .replaceFirst("^is ", "are ")
                .replaceFirst("^was ", "were ")
                .replaceFirst("^has ", "have ")
                .replace(" and has ", " and have ");
    }

    private static String listed(List<String> parts, String separator) {
        return parts.size() <= MAX_RANKS
                ? String.join(separator, parts)
                : String.join(separator, parts.subList(0, MAX_RANKS)) + separator + "and " + (parts.size() - MAX_RANKS)
                        + " more";
    }
}
