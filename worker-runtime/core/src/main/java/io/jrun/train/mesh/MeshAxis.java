package io.jrun.train.mesh;

import io.jrun.comm.ProcessGroup;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Ranks along one axis of a mesh, or along several axes as one: the ranks that a parallelism uses together. */
public final class MeshAxis {
    private final String name;
    private final ProcessGroup group;
    private final @Nullable DeviceMesh mesh;
    private final List<String> axes;

    /**
     * The ranks of a group as an axis, for programs without a mesh. Others use {@link DeviceMesh#axis}.
     *
     * @param name such as {@code dp} or {@code tp}
     */
    public MeshAxis(String name, ProcessGroup group) {
        this(name, group, null, List.of(name));
    }

    private MeshAxis(String name, ProcessGroup group, @Nullable DeviceMesh mesh, List<String> axes) {
        this.name = name;
        this.group = group;
        this.mesh = mesh;
        this.axes = axes;
    }

    static MeshAxis of(DeviceMesh mesh, String... axes) {
        return new MeshAxis(String.join(" x ", axes), mesh.group(axes), mesh, List.of(axes));
    }

    /** The name for messages, such as {@code tp}, or {@code dp x cp}. */
    public String name() {
        return name;
    }

    /** The ranks that differ from this rank on this axis alone. */
    public ProcessGroup group() {
        return group;
    }

    /** The number of ranks on the axis. */
    public int size() {
        return group.size();
    }

    /** The number of this rank on the axis. */
    public int coordinate() {
        return group.groupRank();
    }

    /**
     * This axis and another one as one axis. Collective on the ranks of both.
     *
     * @throws IllegalArgumentException if both have several ranks, and are not axes of one mesh
     */
    public MeshAxis with(MeshAxis other) {
        if (size() == 1 || other.size() == 1) {
            return size() == 1 ? other : this;
        }
        if (mesh == null || mesh != other.mesh) {
            throw new IllegalArgumentException("the axes '" + name + "' and '" + other.name
                    + "' are not axes of one mesh, so their ranks form no axis. Take both from"
                    + " DeviceMesh.axis.");
        }
        List<String> both = new ArrayList<>(axes);
        both.addAll(other.axes);
        return of(mesh, both.toArray(String[]::new));
    }

    @Override
    public String toString() {
        return name + " (" + size() + " ranks)";
    }
}
