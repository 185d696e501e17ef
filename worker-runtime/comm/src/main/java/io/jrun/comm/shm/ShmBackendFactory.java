package io.jrun.comm.shm;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.BackendFactory;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.WorldContext;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * Makes shared-memory backends. Segments are named {@code jrun-UID-RUNID-DIGEST-PART}: user and run for people who look into
 * /dev/shm, and a digest of secret, round, node, group and part. No other job or round finds them, and another user who sees
 * one name cannot take the next.
 */
public final class ShmBackendFactory implements BackendFactory {
    private static final int DIGEST_BYTES = 10;

    private final WorldContext world;

    /** Removes the segments that killed processes of this user have left behind. */
    public ShmBackendFactory(WorldContext world) {
        this.world = world;
        SegmentSweeper.sweep(SegmentNames.ofUser(), SegmentNames.userId());
    }

    @Override
    public Backend create(GroupContext group) {
        return create(group, 0);
    }

    /**
     * As above, for the part of a data plane that has others.
     *
     * @param pieceBytes how large the parts of a call are, to be compared
     */
    public Backend create(GroupContext group, long pieceBytes) {
        return new ShmBackend(group, part -> fileName(group.name(), part), pieceBytes);
    }

    @Override
    public void close() {}

    private String fileName(String groupName, String part) {
        return SegmentNames.ofRun(world.runId()) + digest(groupName + "/" + part) + "-" + part;
    }

    private String digest(String segment) {
        try {
            MessageDigest sha = MessageDigest.getInstance("SHA-256");
            sha.update(world.secret().toArray());
            // Nodes of a test may share a machine, and members of a group on different nodes share no memory.
            int node = world.peers().get(world.rank()).nodeRank();
            sha.update((world.runId() + "/" + world.round() + "/" + node + "/" + segment).getBytes(UTF_8));
            return HexFormat.of().formatHex(sha.digest(), 0, DIGEST_BYTES);
        } catch (NoSuchAlgorithmException e) {
            throw new CommException(ErrorCode.SYSTEM, "this JVM has no SHA-256", e);
        }
    }
}
