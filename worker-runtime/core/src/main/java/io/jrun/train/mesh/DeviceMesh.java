package io.jrun.train.mesh;

import io.jrun.comm.CommException;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.World;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;

/**
 * All ranks of a world as a mesh with named axes. Each rank has an object of its own. The first request for a group
 * along one or several axes makes the group. All members of a group must request their groups in the same order. Source
 * of the order of ranks: Narayanan et al. 2021 (Megatron-LM, arXiv 2104.04473). jrun's report of a failure names the
 * place of the rank in the mesh. Not thread-safe.
 */
public final class DeviceMesh implements AutoCloseable {
    private final World world;
    private final MeshShape shape;
    private final Map<Set<String>, ProcessGroup> groups = new LinkedHashMap<>();

    private DeviceMesh(World world, MeshShape shape) {
        this.world = world;
        this.shape = shape;
    }

    /**
     * The mesh with these axes, the slowest first: {@code DeviceMesh.of(world, "pp", 2, "dp", 2, "tp", 2)}. Put
     * {@code tp} last: its ranks are neighbours, so jrun starts the ranks on one node.
     *
     * @param namesAndSizes the name and the size of each axis, alternately
     * @throws IllegalArgumentException if the product of the sizes is not the size of the world; the message has the
     *     equation
     */
    public static DeviceMesh of(World world, Object... namesAndSizes) {
        Map<String, Integer> axes = new LinkedHashMap<>();
        for (int i = 0; i < namesAndSizes.length; i += 2) {
            if (i + 1 == namesAndSizes.length
                    || !(namesAndSizes[i] instanceof String name)
                    || !(namesAndSizes[i + 1] instanceof Integer size)) {
                throw new IllegalArgumentException("axes are alternating names and sizes, as in \"dp\", 2, \"tp\", 4");
            }
            if (axes.put(name, size) != null) {
                throw new IllegalArgumentException("axis '" + name + "' is given twice");
            }
        }
        return of(world, MeshShape.of(axes));
    }

    /**
     * The mesh of this shape.
     *
     * @throws IllegalArgumentException if the shape has more or fewer ranks than the world; the message has the
     *     equation
     */
    public static DeviceMesh of(World world, MeshShape shape) {
        if (shape.ranks() != world.size()) {
            throw new IllegalArgumentException(
                    "the mesh does not fit the job: " + shape + ", but the job has " + world.size() + " ranks");
        }
        world.reportPlace(shape.place(world.rank()));
        return new DeviceMesh(world, shape);
    }

    /** The axes. */
    public MeshShape shape() {
        return shape;
    }

    /** The world whose ranks form the mesh. */
    public World world() {
        return world;
    }

    /** This rank's position along {@code axis}. */
    public int coordinate(String axis) {
        return shape.coordinate(world.rank(), axis);
    }

    /**
     * The group of the ranks that differ from this rank on {@code axes} only, ordered by world rank. The mesh owns the
     * group. The order of the names does not matter. The group along all axes is the world's.
     *
     * @throws IllegalArgumentException if the mesh has no such axis
     * @throws CommException if the group cannot be made
     */
    public ProcessGroup group(String... axes) {
        Set<String> along = new TreeSet<>(List.of(axes));
        List<Integer> ranks = shape.groupOf(world.rank(), along);
        if (ranks.size() == world.size()) {
            return world.group();
        }
        return Objects.requireNonNull(groups.computeIfAbsent(along, _ -> world.newGroup(ranks)));
    }

    /**
     * The ranks of {@link #group}, as an axis for a parallelism. Several axes become one.
     *
     * @throws IllegalArgumentException as {@link #group}
     * @throws CommException as {@link #group}
     */
    public MeshAxis axis(String... names) {
        return MeshAxis.of(this, names);
    }

    /** Closes the groups that the mesh has made. The world stays open. */
    @Override
    public void close() {
        groups.values().forEach(ProcessGroup::close);
        groups.clear();
    }
}
