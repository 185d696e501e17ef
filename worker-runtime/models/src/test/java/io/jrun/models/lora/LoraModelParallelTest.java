package io.jrun.models.lora;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.models.ModelFolder;
import io.jrun.models.TinyModels;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.train.Libtorch;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.optim.Gradients;
import io.jrun.train.pipeline.PipelineOptions;
import io.jrun.train.pipeline.PipelineParallel;
import io.jrun.train.pipeline.StageCut;
import io.jrun.train.pipeline.schedule.ScheduleKind;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensorparallel.TensorParallel;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Frozen models with adapters whose layers are spread over ranks: the adapters equal those of one process. */
class LoraModelParallelTest {
    private static final int STEPS = 3;
    private static final int TEXTS = 4;
    private static final int LENGTH = 12;
    private static final double RATE = 0.3;
    private static final Map<String, List<String>> TARGETS = Map.of(
            "llama", List.of("q_proj", "v_proj", "o_proj", "down_proj"), "gpt2", List.of("c_attn", "c_proj", "c_fc"));

    @TempDir
    private Path folder;

    private static final int TOKENS = 0;
    private static final int NEXT = 1;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    /** GPT-2 has 3 heads and joint projections in Conv1D's layout, Llama has 6 heads and 2 of keys. */
    @ParameterizedTest
    @CsvSource({"llama,2,false", "llama,2,true", "gpt2,3,false", "gpt2,3,true"})
    void tensorParallelAdaptersEqualThoseOfOneProcess(String name, int ranks, boolean isSequenceParallel)
            throws IOException {
        Map<String, Tensor> start = copies(attached(TinyModels.write(folder, name), name));
        LanguageModel serial = serial(name);
        Map<String, Tensor> expected = copies(serial);
        LocalWorld.run(ranks, world -> {
            LanguageModel model = TinyModels.load(folder);
            Lora lora = Lora.attach(model, options(name));
            MeshAxis axis = new MeshAxis("tp", world.group());
            TensorParallel.apply(model, axis, isSequenceParallel, model.tensorParallelPlan());
            Map<String, ShardedTensor> parameters = Parameters.of(model);
            try (SGD optimizer = new SGD(lora.trained(), new SGDOptions(RATE))) {
                for (int step = 0; step < STEPS; step++) {
                    try (PointerScope _ = new PointerScope()) {
                        optimizer.zero_grad();
                        model.loss(tensor(TOKENS), tensor(NEXT)).backward();
                        optimizer.step();
                    }
                }
            }
            Map<String, Tensor> whole = new TreeMap<>();
            try (NoGradGuard _ = new NoGradGuard()) {
                parameters.forEach((parameter, tensor) -> whole.put(parameter, tensor.whole()));
            }
            compare(whole, expected, start, "rank " + world.rank());
            if (world.rank() == 0) {
                savesWholeTensorsOnly(model, lora, whole, serial);
            }
        });
    }

    private void savesWholeTensorsOnly(
            LanguageModel model, Lora lora, Map<String, Tensor> whole, LanguageModel serial) {
        assertThatThrownBy(() -> lora.save(folder.resolve("parts")))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("this rank has a part of the layer '");
        assertThatThrownBy(() -> ModelFolder.save(model, folder.resolve("parts")))
                .isInstanceOf(IllegalStateException.class);
        ModelFolder.save(model, whole, folder.resolve("base"));
        lora.save(whole, folder.resolve("adapters"));
        LanguageModel again = TinyModels.load(folder.resolve("base"));
        Lora _ = Lora.open(again, folder.resolve("adapters"));
        assertThat(TinyModels.difference(TinyModels.logits(again), TinyModels.logits(serial)))
                .isLessThan(1e-4);
    }

    /** The first stage is the embedding alone, which is frozen. The embedding of GPT-2 is tied to the last stage. */
    @ParameterizedTest
    @CsvSource({"gpt2,ONE_FORWARD_ONE_BACKWARD,1", "llama,ZERO_BUBBLE,1", "gpt2,ZERO_BUBBLE_V,2", "llama,INTERLEAVED,2"
    })
    void pipelineParallelAdaptersEqualThoseOfOneProcess(String name, ScheduleKind kind, int stagesPerRank)
            throws IOException {
        Map<String, Tensor> start = copies(attached(TinyModels.write(folder, name), name));
        Map<String, Tensor> expected = copies(serial(name));
        ConcurrentSkipListSet<String> found = new ConcurrentSkipListSet<>();
        LocalWorld.run(2, world -> found.addAll(pipeline(world, name, kind, stagesPerRank, expected, start)));
        assertThat(found).containsExactlyInAnyOrderElementsOf(expected.keySet());
    }

    private Set<String> pipeline(
            World world,
            String name,
            ScheduleKind kind,
            int stagesPerRank,
            Map<String, Tensor> expected,
            Map<String, Tensor> start) {
        LanguageModel model = attached(TinyModels.load(folder), name);
        StageCut cut = stagesPerRank == 1 ? new StageCut(List.of(0, 1), 4) : StageCut.byCount(4, 4);
        PipelineOptions options =
                PipelineOptions.of(kind, 2, stagesPerRank, TEXTS).withCut(cut);
        Map<String, Tensor> own = new TreeMap<>();
        try (PipelineParallel pipeline = new PipelineParallel(
                model.pipelineLayers(), model::outputLoss, new MeshAxis("pp", world.group()), options)) {
            List<Tensor> trained = Parameters.here(pipeline.parameters()).values().stream()
                    .filter(Tensor::requires_grad)
                    .toList();
            for (int step = 0; step < STEPS; step++) {
                trained.forEach(tensor -> tensor.mutable_grad().reset());
                double _ = pipeline.step(texts(TOKENS), texts(NEXT));
                assertThat(Gradients.clip(pipeline.parameters().values(), 1e6).value())
                        .isPositive();
                try (NoGradGuard _ = new NoGradGuard()) {
                    trained.forEach(tensor -> tensor.sub_(tensor.grad(), new Scalar(RATE)));
                }
            }
            Parameters.here(pipeline.parameters()).forEach((parameter, tensor) -> own.put(parameter, tensor.detach()));
        }
        compare(own, expected, start, "rank " + world.rank());
        return own.keySet();
    }

    @Test
    void adaptersAfterTheLayersAreSharedAreRefused() throws IOException {
        TinyModels.write(folder, "llama");
        LocalWorld.run(2, world -> {
            LanguageModel model = TinyModels.load(folder);
            TensorParallel.apply(model, new MeshAxis("tp", world.group()), false, model.tensorParallelPlan());
            assertThatThrownBy(() -> Lora.attach(model, options("llama")))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("Attach the adapters before");
        });
    }

    /** The model after the steps in this process alone. */
    private LanguageModel serial(String name) {
        LanguageModel model = TinyModels.load(folder);
        Lora lora = Lora.attach(model, options(name));
        try (SGD optimizer = new SGD(lora.trained(), new SGDOptions(RATE))) {
            for (int step = 0; step < STEPS; step++) {
                try (PointerScope _ = new PointerScope()) {
                    optimizer.zero_grad();
                    model.loss(tensor(TOKENS), tensor(NEXT)).backward();
                    optimizer.step();
                }
            }
        }
        return model;
    }

    private static LanguageModel attached(LanguageModel model, String name) {
        Lora _ = Lora.attach(model, options(name));
        return model;
    }

    private static LoraOptions options(String name) {
        return new LoraOptions(3, 6, Objects.requireNonNull(TARGETS.get(name)), 1);
    }

    private static Map<String, Tensor> copies(LanguageModel model) {
        Map<String, Tensor> all = new TreeMap<>();
        ModuleTensors.parameters(model)
                .forEach((name, tensor) -> all.put(name, tensor.detach().clone()));
        return all;
    }

    /** Adapters are equal and were trained; the frozen parameters have their bits. */
    private static void compare(
            Map<String, Tensor> found, Map<String, Tensor> expected, Map<String, Tensor> start, String rank) {
        found.forEach((name, tensor) -> {
            Tensor before = Objects.requireNonNull(start.get(name), name);
            if (name.contains(".lora_")) {
                assertThat(TinyModels.difference(tensor, Objects.requireNonNull(expected.get(name))))
                        .as(name + " of " + rank)
                        .isLessThan(1e-5);
                assertThat(TinyModels.difference(tensor, before))
                        .as(name + " of " + rank)
                        .isGreaterThan(1e-4);
            } else {
                assertThat(tensor.equal(before)).as(name + " of " + rank).isTrue();
            }
        });
    }

    /** All texts [B, S], shifted by some tokens. */
    private static Tensor tensor(int shift) {
        long[] numbers = new long[TEXTS * LENGTH];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = (i * 17L + (i + shift) % 5) % 61;
        }
        return Tensor.create(numbers, TEXTS, LENGTH);
    }

    private static List<Tensor> texts(int shift) {
        return IntStream.range(0, TEXTS)
                .mapToObj(text -> tensor(shift).narrow(0, text, 1))
                .toList();
    }
}
