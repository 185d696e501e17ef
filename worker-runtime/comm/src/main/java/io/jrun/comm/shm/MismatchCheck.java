package io.jrun.comm.shm;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Fingerprint;
import io.jrun.comm.backend.GroupContext;

/** Compares this rank's collective with what its peers have entered. Stateless but for the mappings. */
final class MismatchCheck {
    private final GroupContext group;
    private final ControlBlock block;
    private final Poison poison;
    private final Positions positions;

    MismatchCheck(GroupContext group, ControlBlock block, Poison poison, Positions positions) {
        this.group = group;
        this.block = block;
        this.poison = poison;
        this.positions = positions;
    }

    /** Compares with a peer that has entered its operation of the same number. */
    void compare(int peer, Call call) {
        long entry = block.entry(peer, call.sequence());
        long fingerprint = Words.plain(ControlBlock.fingerprint(entry));
        long count = Words.plain(ControlBlock.count(entry));
        long sequence = Words.plain(ControlBlock.calledAs(entry));
        Call called = call.asCalled();
        if (fingerprint != Fingerprint.of(call) || count != called.count() || sequence != called.sequence()) {
            throw mismatch(peer, Fingerprint.describe(sequence, fingerprint, count), call.describe());
        }
    }

    /** Compares with every peer that is there already, so that a difference is told even if one rank never comes. */
    void compareEntered(Call call) {
        for (int peer = 0; peer < group.size(); peer++) {
            if (Words.acquire(block.entry(peer, call.sequence())) == call.sequence() + 1) {
                compare(peer, call);
            }
        }
    }

    /** The failure that all ranks get: written to the control block, or what another rank has written before. */
    CommException mismatch(int peer, String theirs, String mine) {
        boolean peerFirst = peer < group.rank();
        String first = peerFirst ? calledBy(peer, theirs) : calledBy(group.rank(), mine);
        String second = peerFirst ? calledBy(group.rank(), mine) : calledBy(peer, theirs);
        CommException found = new CommException(
                ErrorCode.COLLECTIVE_MISMATCH,
                first + ", " + second + " on group " + group.name()
                        + ". All ranks must make the same calls in the same order. " + positions.all());
        poison.write(found);
        CommException told = poison.read();
        return told != null ? told : found;
    }

    private String calledBy(int groupRank, String call) {
        return "rank " + group.members().get(groupRank).rank() + " called " + call;
    }
}
