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

/** Compares this rank's collective with what its peers have entered. Stateless but for the mappings. */
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

    /** Compares with a peer that has entered its operation of the same number. */
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

    /** Ranks that cut a call differently would agree on its first pieces, and one might be through before the other. */
    private void comparePieces(int peer, Call call) {
        long mine = SharedWords.plain(block.pieceBytes(group.groupRank()));
        long theirs = SharedWords.plain(block.pieceBytes(peer));
        if (mine != theirs) {
            throw written(call.describe() + " on group " + group.name() + ": " + group.describe(group.groupRank())
                    + " cuts calls into pieces of " + mine + " bytes but " + group.describe(peer) + " of " + theirs
                    + ". Set JRUN_PIECE_BYTES and JRUN_CONNECTIONS alike on every rank.");
        }
    }

    /** What a peer called; the sizes of its blocks are in the entry only where the operation has no parts. */
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

    /** The blocks of a call that has entered. */
    Blocks blocks(long entry) {
        return Blocks.of(IntStream.range(0, group.size())
                .mapToLong(part -> SharedWords.plain(ControlBlock.blockCount(entry, part)))
                .toArray());
    }

    /** Compares with every peer that is there already, so that a difference is told even if one rank never comes. */
    void compareEntered(Call call) {
        for (int peer = 0; peer < group.size(); peer++) {
            if (SharedWords.acquire(block.entry(peer, call.sequence())) == call.sequence() + 1) {
                compare(peer, call);
            }
        }
    }

    /** The failure that all ranks get: written to the control block, or what another rank has written before. */
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
        return written(first + ", " + second + " on group " + group.name()
                + ". All ranks must make the same calls in the same order. " + positions.all()
                + stacksOfTheMissing(call));
    }

    private CommException written(String text) {
        CommException found = new CommException(ErrorCode.COLLECTIVE_MISMATCH, text);
        poison.write(found);
        CommException told = poison.read();
        return told != null ? told : found;
    }

    private String stacksOfTheMissing(Call call) {
        List<Integer> missing = call.kind().isMessage() ? List.of() : positions.missing(call);
        return missing.isEmpty() ? "" : late.places(call, missing);
    }

    private String calledBy(int groupRank, String call) {
        return "rank " + group.members().get(groupRank).rank() + " called " + call;
    }
}
