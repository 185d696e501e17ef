package io.jrun.models.lora;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.models.TinyModels;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.train.Libtorch;
import io.jrun.train.ddp.DdpOptions;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.fsdp.FsdpOptions;
import io.jrun.train.fsdp.FullyShard;
import io.jrun.train.fsdp.FullyShardedDataParallel;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.reducer.GradientPlacement;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.zero.ZeroOptimizer;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A frozen model with adapters in each wrapper: two ranks with a text each equal one process with both texts. */
class LoraWrappersTest {
    private static final int STEPS = 4;
    private static final List<ParameterGroup> GROUPS = ParameterGroup.decayMatrices(0.1);
    private static final LearningRateSchedule SCHEDULE = LearningRateSchedule.constant(0.01);

    @TempDir
    private Path folder;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    enum Wrapper {
        DDP {
            @Override
            Map<String, Tensor> train(World world, LanguageModel model) {
                try (var ddp = new DistributedDataParallel<>(model, world.group());
                        var optimizer = optimizer(ModuleTensors.parameters(model))) {
                    for (int i = 0; i < STEPS; i++) {
                        try (var step = ddp.step()) {
                            optimizer.zeroGradients();
                            step.backward(loss(model, world.rank(), 1));
                            optimizer.step();
                        }
                    }
                }
                return copies(ModuleTensors.parameters(model));
            }
        },
        ZERO_ONE {
            @Override
            Map<String, Tensor> train(World world, LanguageModel model) {
                try (var ddp = new DistributedDataParallel<>(
                                model,
                                world.group(),
                                DdpOptions.DEFAULT.withPlacement(GradientPlacement.SHARDED_STATES));
                        var optimizer = ZeroOptimizer.of(ddp.reducer(), FusedAdamW.DEFAULT, GROUPS, SCHEDULE)) {
                    for (int i = 0; i < STEPS; i++) {
                        try (var step = ddp.step()) {
                            model.zero_grad(true);
                            step.backward(loss(model, world.rank(), 1));
                            optimizer.step();
                        }
                    }
                }
                return copies(ModuleTensors.parameters(model));
            }
        },
        ZERO_TWO {
            @Override
            Map<String, Tensor> train(World world, LanguageModel model) {
                try (var wrapped = new DistributedDataParallel<>(
                                model,
                                world.group(),
                                DdpOptions.DEFAULT.withPlacement(GradientPlacement.SHARDED_GRADIENTS));
                        var optimizer = ZeroOptimizer.of(wrapped.reducer(), FusedAdamW.DEFAULT, GROUPS, SCHEDULE)) {
                    for (int i = 0; i < STEPS; i++) {
                        try (var step = wrapped.step()) {
                            optimizer.zeroGradients();
                            step.backward(loss(model, world.rank(), 1));
                            optimizer.step();
                        }
                    }
                }
                return copies(ModuleTensors.parameters(model));
            }
        },
        FSDP {
            @Override
            Map<String, Tensor> train(World world, LanguageModel model) {
                var fsdp = new FullyShardedDataParallel(new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT);
                FullyShard.apply(model, fsdp);
                try (var optimizer = new FlatOptimizer(
                        fsdp.parameters(), FusedAdamW.DEFAULT, GROUPS, SCHEDULE, fsdp.gradientMemory())) {
                    for (int i = 0; i < STEPS; i++) {
                        try (var step = fsdp.step()) {
                            optimizer.zeroGradients();
                            step.backward(loss(model, world.rank(), 1));
                            optimizer.step();
                        }
                    }
                }
                return fsdp.wholeParameters(
                        (_, whole) -> TensorMemory.own(whole.detach().clone()));
            }
        };

        /** Trains, and returns copies of all parameters by name. */
        abstract Map<String, Tensor> train(World world, LanguageModel model);
    }

    @ParameterizedTest
    @EnumSource
    void adaptersEqualThoseOfOneProcessAndTheFrozenModelIsUnchanged(Wrapper wrapper) throws IOException {
        LanguageModel serial = attached(TinyModels.write(folder, "llama"));
        Map<String, Tensor> before = copies(ModuleTensors.parameters(serial));
        try (FlatOptimizer optimizer = optimizer(ModuleTensors.parameters(serial))) {
            for (int i = 0; i < STEPS; i++) {
                optimizer.zeroGradients();
                loss(serial, 0, 2).backward();
                optimizer.step();
            }
        }
        Map<String, Tensor> expected = copies(ModuleTensors.parameters(serial));
        AtomicReference<Map<String, Tensor>> found = new AtomicReference<>(Map.of());
        LocalWorld.run(2, world -> {
            Map<String, Tensor> values = wrapper.train(world, attached(TinyModels.load(folder)));
            if (world.rank() == 1) {
                found.set(values);
            }
        });
        assertThat(found.get()).hasSameSizeAs(expected);
        found.get().forEach((name, tensor) -> {
            if (name.contains(".lora_")) {
                assertThat(TinyModels.difference(tensor, of(expected, name)))
                        .as(name)
                        .isLessThan(1e-5);
                assertThat(TinyModels.difference(tensor, of(before, name)))
                        .as(name)
                        .isGreaterThan(1e-3);
            } else {
                assertThat(tensor.equal(of(before, name))).as(name).isTrue();
            }
        });
    }

    private static Tensor of(Map<String, Tensor> tensors, String name) {
        return Objects.requireNonNull(tensors.get(name), name);
    }

    private static LanguageModel attached(LanguageModel model) {
        Lora _ = Lora.attach(model, new LoraOptions(3, 6, List.of("q_proj", "v_proj"), 1));
        return model;
    }

    private static FlatOptimizer optimizer(Map<String, Tensor> parameters) {
        return new FlatOptimizer(Parameters.of(parameters), FusedAdamW.DEFAULT, GROUPS, SCHEDULE);
    }

    private static Map<String, Tensor> copies(Map<String, Tensor> parameters) {
        Map<String, Tensor> all = new TreeMap<>();
        parameters.forEach((name, tensor) -> all.put(name, tensor.detach().clone()));
        return all;
    }

    /** The loss of {@code count} texts from text {@code first} on. */
    private static Tensor loss(LanguageModel model, int first, int count) {
        Tensor tokens = Tensor.create(new long[] {1, 2, 3, 4, 9, 8, 7, 6}, 2, 4);
        Tensor next = Tensor.create(new long[] {2, 3, 4, 5, 8, 7, 6, 5}, 2, 4);
        return model.loss(tokens.narrow(0, first, count), next.narrow(0, first, count));
    }
}
