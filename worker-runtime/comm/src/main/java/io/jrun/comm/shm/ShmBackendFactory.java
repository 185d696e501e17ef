package io.jrun.comm.shm;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.BackendFactory;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.WorldContext;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * Makes shared-memory backends. Segments are named {@code jrun-UID-RUNID-DIGEST-...}: user and run for people who look into
 * /dev/shm, and a digest of secret, round, node and group, so that no other job or round finds them.
 */
public final class ShmBackendFactory implements BackendFactory {
    private static final int RUN_ID_CHARS = 40;
    private static final int DIGEST_BYTES = 10;

    private final WorldContext world;
    private final String userPrefix;

    /** Sweeps what killed processes of this user have left behind. */
    public ShmBackendFactory(WorldContext world) {
        this.world = world;
        this.userPrefix = "jrun-" + userId() + "-";
        Sweeper.sweep(userPrefix);
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
        return new ShmBackend(group, namePrefix(group.name()), pieceBytes);
    }

    @Override
    public void close() {}

    private String namePrefix(String groupName) {
        String run = world.runId().replaceAll("[^A-Za-z0-9._-]", "_");
        return userPrefix + run.substring(0, Math.min(run.length(), RUN_ID_CHARS)) + "-" + digest(groupName) + "-";
    }

    private String digest(String groupName) {
        try {
            MessageDigest sha = MessageDigest.getInstance("SHA-256");
            sha.update(world.secret().toArray());
            // Nodes of a test may share a machine, and members of a group on different nodes share no memory.
            int node = world.peers().get(world.rank()).nodeRank();
            sha.update((world.runId() + "/" + world.round() + "/" + node + "/" + groupName).getBytes(UTF_8));
            return HexFormat.of().formatHex(sha.digest(), 0, DIGEST_BYTES);
        } catch (NoSuchAlgorithmException e) {
            throw new CommException(ErrorCode.SYSTEM, "this JVM has no SHA-256", e);
        }
    }

    private static int userId() {
        try {
            return (int) Files.getAttribute(Path.of("/proc/self"), "unix:uid");
        } catch (IOException e) {
            throw new CommException(ErrorCode.SYSTEM, "cannot read this process's user: " + e.getMessage(), e);
        }
    }
}
