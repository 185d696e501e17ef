package io.jrun.train.mesh;

import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class ReplicaCheckTest {
    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    private static Map<String, Tensor> parameters() {
        Map<String, Tensor> parameters = new LinkedHashMap<>();
        parameters.put("first", torch.ones(3, 5));
        parameters.put("second", torch.ones(1000).to(torch.ScalarType.BFloat16));
        return parameters;
    }

    private static void flipLastBit(Tensor parameter) {
        MemorySegment memory = TensorMemory.segment(parameter);
        long last = memory.byteSize() - 1;
        memory.set(ValueLayout.JAVA_BYTE, last, (byte) (memory.get(ValueLayout.JAVA_BYTE, last) ^ 0x80));
    }

    private static Tensor named(Map<String, Tensor> parameters, String name) {
        return Objects.requireNonNull(parameters.get(name));
    }

    private static void assertDiffer(ReplicaCheck check, String message) {
        assertThatExceptionOfType(ReplicaException.class)
                .isThrownBy(() -> check.check(7))
                .withMessageStartingWith("step 7: parameter " + message);
    }

    @Test
    void oneChangedBitIsFoundAndItsRankNamed() {
        LocalWorld.run(3, world -> {
            Map<String, Tensor> parameters = parameters();
            ReplicaCheck check = ReplicaCheck.of(DeviceMesh.of(world, "dp", 3), Parameters.of(parameters));
            check.check(6);
            if (world.rank() == 2) {
                flipLastBit(named(parameters, "second"));
            }
            assertDiffer(check, "'second' differs on rank 2 from the copies of the ranks [0, 1]. ");
        });
    }

    @Test
    void twoCopiesThatDifferAreBothNamed() {
        LocalWorld.run(2, world -> {
            Map<String, Tensor> parameters = parameters();
            if (world.rank() == 1) {
                parameters.values().forEach(ReplicaCheckTest::flipLastBit);
            }
            assertDiffer(
                    ReplicaCheck.of(world.group(), Parameters.of(parameters)),
                    "'first' differs between the ranks [0, 1], and 1 more parameters differ. ");
        });
    }

    /** Ranks 0 and 1 hold the parts of one copy, ranks 2 and 3 those of the other. */
    private static ReplicaCheck divided(World world, Map<String, Tensor> parameters) {
        DeviceMesh mesh = DeviceMesh.of(world, "dp", 2, "tp", 2);
        named(parameters, "first").fill_(new Scalar((double) mesh.coordinate("tp")));
        Tensor first = named(parameters, "first");
        AxisPlacement half = new AxisPlacement(mesh.axis("tp"), new Shard(0));
        ParameterNotes.setPlaced(new ShardedTensor("first", List.of(6L, 5L), List.of(half), first), first);
        return ReplicaCheck.of(mesh, Parameters.of(parameters));
    }

    @Test
    void partsAreComparedWithEqualParts() {
        LocalWorld.run(4, world -> {
            Map<String, Tensor> parameters = parameters();
            ReplicaCheck check = divided(world, parameters);
            check.check(6);
            if (world.rank() == 3) {
                flipLastBit(named(parameters, "first"));
            }
            if (world.rank() % 2 == 1) { // the copies of the other part are equal
                assertDiffer(check, "'first (part 1 of 2 along tp)' differs between the ranks [1, 3]. ");
            }
        });
    }

    @Test
    void copiesAlongEachAxisAreCompared() {
        LocalWorld.run(4, world -> {
            Map<String, Tensor> parameters = parameters();
            ReplicaCheck check = divided(world, parameters);
            if (world.rank() >= 2) {
                flipLastBit(named(parameters, "second"));
            }
            assertDiffer(check, "'second' differs between the ranks " + (world.rank() % 2 == 0 ? "[0, 2]" : "[1, 3]"));
        });
    }
}
