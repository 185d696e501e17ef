package io.jrun.models;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.train.Libtorch;
import io.jrun.train.context.ContextParallel;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensorparallel.TensorParallel;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The models of this module on ranks that share layers and sequences. */
class ParallelModelsTest {
    private static final int STEPS = 3;

    @TempDir
    private Path folder;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    private static Tensor tokens(int step, int shift) {
        long[] numbers = new long[2 * 12];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = (i * 17L + step * 29L + shift * (i + 5L)) % 61;
        }
        return Tensor.create(numbers, 2, 12);
    }

    private static LanguageModel train(LanguageModel model, Consumer<Integer> gradients) {
        SGD optimizer = new SGD(model.parameters(), new SGDOptions(0.05));
        for (int step = 0; step < STEPS; step++) {
            try (PointerScope _ = new PointerScope()) {
                optimizer.zero_grad();
                gradients.accept(step);
                optimizer.step();
            }
        }
        return model;
    }

    private static Map<String, Tensor> serial(LanguageModel model) {
        train(model, step -> model.loss(tokens(step, 0), tokens(step, 1)).backward());
        Map<String, Tensor> values = new LinkedHashMap<>();
        ModuleTensors.parameters(model).forEach((name, tensor) -> values.put(name, tensor.detach()));
        return values;
    }

    private LanguageModel model(String name, String place) {
        try {
            return TinyModels.write(folder.resolve(place), name);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** GPT-2 has 3 heads; Llama has 6 heads and 2 of keys. The vocabulary of 61 tokens divides by neither. */
    @ParameterizedTest
    @CsvSource({"gpt2,3,1", "llama,2,1", "llama,2,2"})
    void parametersEqualTheSerialOnes(String name, int tensorRanks, int contextRanks) {
        Map<String, Tensor> serial = serial(model(name, "serial"));
        LocalWorld.run(tensorRanks * contextRanks, world -> {
            try (DeviceMesh mesh = DeviceMesh.of(world, "cp", contextRanks, "tp", tensorRanks)) {
                compare(world, mesh, model(name, "rank" + world.rank()), serial);
            }
        });
    }

    private static void compare(World world, DeviceMesh mesh, LanguageModel model, Map<String, Tensor> serial) {
        MeshAxis tensorAxis = mesh.axis("tp");
        MeshAxis contextAxis = mesh.axis("cp");
        ContextParallel context = ContextParallel.apply(
                model, contextAxis, new MeshAxis("cp", contextAxis.group()), ContextParallel.Exchange.RING);
        TensorParallel.apply(model, tensorAxis, true, model.tensorParallelPlan());
        Map<String, ShardedTensor> parameters = Parameters.of(model);
        try (DistributedDataParallel<LanguageModel> ddp = new DistributedDataParallel<>(model, contextAxis.group())) {
            train(model, step -> {
                try (var current = ddp.step()) {
                    current.backward(model.loss(context.tokens(tokens(step, 0)), context.tokens(tokens(step, 1))));
                }
            });
        }
        try (NoGradGuard _ = new NoGradGuard()) {
            parameters.forEach((name, parameter) -> assertThat(
                            TinyModels.difference(parameter.whole(), Objects.requireNonNull(serial.get(name))))
                    .as(name + " of rank " + world.rank())
                    .isLessThan(1e-6));
        }
    }
}
