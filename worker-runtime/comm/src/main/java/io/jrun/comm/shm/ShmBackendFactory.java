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
 * Makes shared-memory backends. The names of segments are {@code jrun-UID-RUNID-DIGEST-PART}. User and run help people
 * who read /dev/shm. The digest covers secret, round, node, group and part, so no other job or round finds the
 * segments, and another user who sees one name cannot guess the next.
 */
public final class ShmBackendFactory implements BackendFactory {
    private static final int DIGEST_BYTES = 10;

    private final WorldContext world;

    /** Makes a factory, and removes segments of killed processes of this user. */
    public ShmBackendFactory(WorldContext world) {
        this.world = world;
        SegmentSweeper.sweep(SegmentNames.ofUser(), SegmentNames.userId());
    }

    @Override
    public Backend create(GroupContext group) {
        return create(group, 0);
    }

    /**
     * Makes a backend that is a part of another backend.
     *
     * @param pieceBytes size of the pipeline chunks, which the ranks compare
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
            // Nodes of a test may share a machine, but members of a group on different nodes share no memory.
            int node = world.peers().get(world.rank()).nodeRank();
            sha.update((world.runId() + "/" + world.round() + "/" + node + "/" + segment).getBytes(UTF_8));
            return HexFormat.of().formatHex(sha.digest(), 0, DIGEST_BYTES);
        } catch (NoSuchAlgorithmException e) {
            throw new CommException(ErrorCode.SYSTEM, "this JVM has no SHA-256", e);
        }
    }
}
