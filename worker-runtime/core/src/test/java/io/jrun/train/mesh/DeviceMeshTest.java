package io.jrun.train.mesh;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.local.LocalWorld;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class DeviceMeshTest {
    private static MeshShape shape(Object... namesAndSizes) {
        Map<String, Integer> axes = new LinkedHashMap<>();
        for (int i = 0; i < namesAndSizes.length; i += 2) {
            axes.put((String) namesAndSizes[i], (Integer) namesAndSizes[i + 1]);
        }
        return MeshShape.of(axes);
    }

    /** Groups of 16 ranks as Megatron-LM's initialize_model_parallel documents them. */
    @Test
    void groupsAreThoseOfMegatron() {
        MeshShape shape = shape("pp", 4, "dp", 2, "tp", 2);
        assertThat(shape.groups("tp"))
                .isEqualTo(List.of(
                        List.of(0, 1),
                        List.of(2, 3),
                        List.of(4, 5),
                        List.of(6, 7),
                        List.of(8, 9),
                        List.of(10, 11),
                        List.of(12, 13),
                        List.of(14, 15)));
        assertThat(shape.groups("dp"))
                .isEqualTo(List.of(
                        List.of(0, 2),
                        List.of(1, 3),
                        List.of(4, 6),
                        List.of(5, 7),
                        List.of(8, 10),
                        List.of(9, 11),
                        List.of(12, 14),
                        List.of(13, 15)));
        assertThat(shape.groups("pp"))
                .isEqualTo(List.of(
                        List.of(0, 4, 8, 12), List.of(1, 5, 9, 13), List.of(2, 6, 10, 14), List.of(3, 7, 11, 15)));
        assertThat(shape.groups("dp", "tp"))
                .isEqualTo(List.of(
                        List.of(0, 1, 2, 3), List.of(4, 5, 6, 7), List.of(8, 9, 10, 11), List.of(12, 13, 14, 15)));
        assertThat(shape.place(13)).isEqualTo("pp=3 dp=0 tp=1");
    }

    @Test
    void ranksOfEachGroupReduceAmongThemselves() throws Exception {
        LocalWorld.run(8, world -> {
            try (DeviceMesh mesh = DeviceMesh.of(world, "pp", 2, "dp", 1, "cp", 2, "tp", 2);
                    Arena arena = Arena.ofShared()) {
                assertThat(sum(mesh.group("tp"), world.rank(), arena)).isEqualTo(sumOf(mesh, "tp"));
                assertThat(sum(mesh.group("cp", "dp"), world.rank(), arena)).isEqualTo(sumOf(mesh, "dp", "cp"));
                assertThat(mesh.group("dp", "cp")).isSameAs(mesh.group("cp", "dp"));
                assertThat(mesh.group("pp", "tp", "cp", "dp")).isSameAs(world.group());
                assertThat(mesh.group("pp").worldRank(0)).isEqualTo(world.rank() % 4);
                assertThat(mesh.coordinate("cp")).isEqualTo(world.rank() / 2 % 2);
            }
        });
    }

    private static long sumOf(DeviceMesh mesh, String... axes) {
        return mesh.shape().groupOf(mesh.world().rank(), List.of(axes)).stream()
                .mapToLong(rank -> 1L << rank)
                .sum();
    }

    private static long sum(ProcessGroup group, int rank, Arena arena) {
        MemorySegment memory = arena.allocateFrom(ValueLayout.JAVA_LONG, 1L << rank);
        group.allReduce(memory, DataType.I64, 1, ReduceOp.SUM);
        return memory.get(ValueLayout.JAVA_LONG, 0);
    }

    @Test
    void refusesAMeshThatDoesNotFit() throws Exception {
        LocalWorld.run(2, world -> {
            assertThatThrownBy(() -> DeviceMesh.of(world, "pp", 2, "dp", 3, "tp", 2))
                    .hasMessage("the mesh does not fit the job: pp 2 x dp 3 x tp 2 = 12, but the job has 2 ranks");
            assertThatThrownBy(() -> DeviceMesh.of(world, "dp", 2, "dp", 1)).hasMessage("axis 'dp' is given twice");
            assertThatThrownBy(() -> DeviceMesh.of(world, "dp")).hasMessageContaining("alternating names and sizes");
            assertThatThrownBy(() -> DeviceMesh.of(world, "dp", 0)).hasMessageContaining("axis 'dp' has size 0");
            assertThatThrownBy(() -> DeviceMesh.of(world, "dp", 2).group("tp"))
                    .hasMessage("the mesh has no axis 'tp': its axes are dp");
        });
    }
}
