package io.jrun.comm.shm;

import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Fingerprint;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.LateRankWarning;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Where each rank of the group is, as its slot of the control block and its departure tell. Stateless but for those. */
final class RankPositions {
    /** Errors travel in {@link ControlBlock#MAX_TEXT_BYTES}; where so many ranks differ, the first ones say enough. */
    private static final int MAX_RANKS = 8;

    private static final String NOWHERE = "having entered no operation";

    private final GroupContext group;
    private final ControlBlock block;

    RankPositions(GroupContext group, ControlBlock block) {
        this.group = group;
        this.block = block;
    }

    /** Completes "rank 3 ...": {@code in allReduce #7(f32, 100, SUM)}. */
    String of(int rank) {
        String left = group.health().departure(rank);
        return left == null ? operation(rank) : left + ", before that " + operation(rank);
    }

    private String operation(int rank) {
        if (SharedWords.acquire(block.present(rank)) == 0) {
            return NOWHERE;
        }
        long entered = Math.max(SharedWords.acquire(block.entry(rank, 0)), SharedWords.acquire(block.entry(rank, 1)));
        if (entered == 0) {
            return NOWHERE;
        }
        long entry = block.entry(rank, entered - 1);
        String call = Fingerprint.describe(
                SharedWords.plain(ControlBlock.calledAs(entry)),
                SharedWords.plain(ControlBlock.fingerprint(entry)),
                SharedWords.plain(ControlBlock.count(entry)));
        return SharedWords.acquire(block.finished(rank)) >= entered
                ? "past " + call + " and in nothing since"
                : "in " + call;
    }

    /** Those whom a collective lacks, or {@code peer}, with whatever else is worth knowing of it. */
    LateRankWarning.Awaited awaiting(Call call, int peer) {
        return new LateRankWarning.Awaited() {
            @Override
            public String words() {
                return awaited(call, peer);
            }

            @Override
            public List<Integer> ranks() {
                return wanted(call, peer);
            }
        };
    }

    /** For a message the other rank. For a collective all ranks; ranks that have not entered the collective come first. */
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

    /** Group ranks that have not entered a collective. */
    List<Integer> missing(Call call) {
        List<Integer> missing = new ArrayList<>();
        for (int rank = 0; rank < group.size(); rank++) {
            if (SharedWords.acquire(block.entry(rank, call.sequence())) != call.sequence() + 1) {
                missing.add(rank);
            }
        }
        return missing;
    }

    /** All ranks' places in one sentence, those with the same one together. */
    String all() {
        Map<String, List<String>> ranks = new LinkedHashMap<>();
        for (int rank = 0; rank < group.size(); rank++) {
            ranks.computeIfAbsent(of(rank), _ -> new ArrayList<>())
                    .add("rank " + group.members().get(rank).rank());
        }
        List<String> parts = new ArrayList<>();
        ranks.forEach((place, same) -> parts.add(listed(same, ", ") + " " + place));
        return "Where the ranks are: " + listed(parts, "; ") + ".";
    }

    /** Who is missing in a collective, or {@code peer} where everybody is there or it is a message, each with its place. */
    String awaited(Call call, int peer) {
        List<Integer> late = call.kind().isMessage() ? List.of() : missing(call);
        return listed(
                (late.isEmpty() ? List.of(peer) : late)
                        .stream()
                                .map(rank -> group.describe(rank) + ", " + of(rank))
                                .toList(),
                "; ");
    }

    private static String listed(List<String> parts, String separator) {
        return parts.size() <= MAX_RANKS
                ? String.join(separator, parts)
                : String.join(separator, parts.subList(0, MAX_RANKS)) + separator + "and " + (parts.size() - MAX_RANKS)
                        + " more";
    }
}
