package io.jrun.train.mesh;

import io.jrun.comm.ProcessGroup;

/**
 * One axis of a mesh, with the group and the number of one rank.
 *
 * @param name such as {@code dp} or {@code tp}
 * @param group the ranks that differ from this rank on this axis alone
 */
public record MeshAxis(String name, ProcessGroup group) {
    /** The number of ranks on the axis. */
    public int size() {
        return group.size();
    }

    /** The number of this rank on the axis. */
    public int coordinate() {
        return group.groupRank();
    }
}
