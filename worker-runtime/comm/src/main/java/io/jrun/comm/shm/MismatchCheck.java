package io.jrun.comm.shm;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.Blocks;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Fingerprint;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.LateRankWarning;
import io.jrun.comm.backend.OpKind;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Compares this rank's collective with the collectives that its peers have entered. Stateless except for the mappings.
 */
final class MismatchCheck {
    private final GroupContext group;
    private final ControlBlock block;
    private final SharedFailure poison;
    private final RankPositions positions;
    private final LateRankWarning late;

    MismatchCheck(
            GroupContext group,
            ControlBlock block,
            SharedFailure poison,
            RankPositions positions,
            LateRankWarning late) {
        this.group = group;
        this.block = block;
        this.poison = poison;
        this.positions = positions;
        this.late = late;
    }

    /** Compares with a peer that has entered the operation of the same number. */
    void compare(int peer, Call call) {
        if (call.whole() != null) {
            comparePieces(peer, call);
        }
        long entry = block.entry(peer, call.sequence());
        long fingerprint = SharedWords.plain(ControlBlock.fingerprint(entry));
        long count = SharedWords.plain(ControlBlock.count(entry));
        long sequence = SharedWords.plain(ControlBlock.calledAs(entry));
        Call called = call.asCalled();
        if (Fingerprint.isDeterministic(fingerprint) != group.deterministic()) {
            String theirs = Fingerprint.describe(sequence, fingerprint, count);
            throw mismatch(peer, theirs + mode(!group.deterministic()), call, mode(group.deterministic()));
        }
        if (fingerprint != Fingerprint.of(call, group) || count != called.count() || sequence != called.sequence()) {
            throw mismatch(peer, describe(sequence, fingerprint, count, entry, call), call);
        }
        if (call.whole() == null && call.uneven() != null) {
            compareBlocks(peer, entry, call);
        } else if (SharedWords.plain(ControlBlock.blocks(entry)) != Fingerprint.blocks(call)) {
            throw mismatch(peer, describe(sequence, fingerprint, count, entry, call), call);
        }
    }

    /**
     * Compares the sizes of pipeline chunks. Different sizes would agree on the first chunks, and one rank might end
     * before the other.
     */
    private void comparePieces(int peer, Call call) {
        long mine = SharedWords.plain(block.pieceBytes(group.groupRank()));
        long theirs = SharedWords.plain(block.pieceBytes(peer));
        if (mine != theirs) {
            throw written(call.describe() + " on " + group.label() + ": " + group.describe(group.groupRank())
                    + " divides calls into pieces of " + mine + " bytes but " + group.describe(peer)
                    + " into pieces of "
                    + theirs + ". Set JRUN_PIECE_BYTES and JRUN_CONNECTIONS equally on every rank.");
        }
    }

    /** Describes a peer's call. The entry has the sizes of its blocks only if the operation has no parts. */
    private String describe(long sequence, long fingerprint, long count, long entry, Call mine) {
        if (!Fingerprint.isUneven(fingerprint)) {
            return Fingerprint.describe(sequence, fingerprint, count);
        }
        if (mine.whole() == null) {
            return describeUneven(sequence, fingerprint, entry);
        }
        String amount = Fingerprint.describeBlocks(count, SharedWords.plain(ControlBlock.blocks(entry)));
        return Fingerprint.describe(sequence, fingerprint, amount);
    }

    private void compareBlocks(int peer, long entry, Call call) {
        Blocks theirs = blocks(entry);
        Blocks incoming = call.unevenIncoming();
        boolean isSame = incoming == null
                ? theirs.equals(call.uneven())
                : theirs.count(group.groupRank()) == incoming.count(peer);
        if (!isSame) {
            String called = describeUneven(call.sequence(), Fingerprint.of(call), entry);
            throw mismatch(peer, called, call);
        }
    }

    private String describeUneven(long sequence, long fingerprint, long entry) {
        String blocks = blocks(entry).describe();
        boolean ofEachRank = Fingerprint.kind(fingerprint) == OpKind.ALL_TO_ALL;
        return Fingerprint.describe(sequence, fingerprint, (ofEachRank ? "blocks out " : "blocks ") + blocks);
    }

    /** Returns the blocks of an entered call. */
    Blocks blocks(long entry) {
        return Blocks.of(IntStream.range(0, group.size())
                .mapToLong(part -> SharedWords.plain(ControlBlock.blockCount(entry, part)))
                .toArray());
    }

    /** Compares with every peer that has entered, so that a difference is reported even if one rank never comes. */
    void compareEntered(Call call) {
        for (int peer = 0; peer < group.size(); peer++) {
            if (SharedWords.acquire(block.entry(peer, call.sequence())) == call.sequence() + 1) {
                compare(peer, call);
            }
        }
    }

    /**
     * Returns the failure that all ranks report: the new failure in the control block, or an earlier one of another
     * rank.
     */
    CommException mismatch(int peer, String theirs, Call call) {
        return mismatch(peer, theirs, call, "");
    }

    private static String mode(boolean deterministic) {
        return deterministic ? " deterministically" : " without determinism";
    }

    private CommException mismatch(int peer, String theirs, Call call, String myMode) {
        String mine = call.describe() + myMode;
        boolean peerFirst = peer < group.groupRank();
        String first = peerFirst ? calledBy(peer, theirs) : calledBy(group.groupRank(), mine);
        String second = peerFirst ? calledBy(group.groupRank(), mine) : calledBy(peer, theirs);
        return written(first + ", " + second + " on " + group.label()
                + ". All ranks must make the same calls in the same order. " + positions.all()
                + locationsOfMissingRanks(call));
    }

    private CommException written(String text) {
        CommException found = new CommException(ErrorCode.COLLECTIVE_MISMATCH, text);
        poison.write(found);
        CommException known = poison.read();
        return known != null ? known : found;
    }

    private String locationsOfMissingRanks(Call call) {
        List<Integer> missing = call.kind().isMessage() ? List.of() : positions.missing(call);
        return missing.isEmpty() ? "" : late.locations(call, missing);
    }

    private String calledBy(int groupRank, String call) {
        return "rank " + group.members().get(groupRank).rank() + " called " + call;
    }
}
