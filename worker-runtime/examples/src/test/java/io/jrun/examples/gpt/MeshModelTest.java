package io.jrun.examples.gpt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.train.Libtorch;
import io.jrun.train.checkpoint.sharded.CheckpointManager;
import io.jrun.train.checkpoint.sharded.Retention;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** train.jar with --tp, --cp and --pp. Compared are the parameters of the last checkpoint. */
class MeshModelTest {
    private static final int STEPS = 5;

    @TempDir
    private Path folder;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    /** The first case is the mesh of four axes. A step has 4 sequences, on one rank as on all. */
    @ParameterizedTest
    @CsvSource({
        "16,--tp=2 --cp=2 --pp=2 --dp=2 --accumulate=2,--sequence-parallel",
        "4,--tp=2 --pp=2 --accumulate=4 --schedule=zb1p --model=llama --untied,--sequence-parallel",
        "4,--cp=2 --pp=2 --accumulate=4 --schedule=interleaved --model=llama,--recompute=1",
        "4,--dp=2 --pp=2 --accumulate=2 --schedule=zbv,--virtual-stages=2",
        "4,--tp=2 --cp=2 --accumulate=4,--cp-exchange=all-gather",
        "2,--cp=2 --accumulate=4,--cp-exchange=ulysses"
    })
    void theParametersAreThoseOfOneRank(int ranks, String words, String more) {
        String[] flags = (words + " " + more).split(" ");
        String[] ofOneRank = Stream.of(words.split(" "))
                .map(word -> word.startsWith("--accumulate") ? "--accumulate=4" : word)
                .filter(word -> word.matches("--(accumulate|model|untied).*"))
                .toArray(String[]::new);
        Map<String, float[]> expected = train("one", 1, ofOneRank);
        Map<String, float[]> found = train("mesh", ranks, flags);
        assertThat(found.keySet()).isEqualTo(expected.keySet());
        expected.forEach((name, values) -> assertThat(found.get(name))
                .as(name)
                .usingComparatorWithPrecision(2e-6f)
                .containsExactly(values));
    }

    /** Also the states of the optimizer. The second job makes no step, and saves what it has loaded. */
    @ParameterizedTest
    @CsvSource({
        "4,--tp=2 --pp=2 --accumulate=4,1,--accumulate=4",
        "1,--accumulate=4,4,--tp=2 --pp=2 --accumulate=4 --schedule=interleaved",
        "4,--pp=2 --cp=2 --accumulate=4,2,--tp=2 --accumulate=4"
    })
    void aCheckpointOfOneMeshHasTheSameBitsOnAnother(int ranks, String flags, int others, String otherFlags) {
        String[] first = (flags + " --optimizer=fused").split(" ");
        Map<String, float[]> saved = train("state", ranks, first);
        Map<String, float[]> loaded = train("state", others, (otherFlags + " --optimizer=fused --resume").split(" "));
        assertThat(loaded.keySet()).isEqualTo(saved.keySet());
        saved.forEach((name, values) -> assertThat(loaded.get(name)).as(name).containsExactly(values));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "2 | --tp=3 | the mesh does not fit the job: pp 1 x dp 1 x shard 1 x cp 1 x tp 3 = 3, but the job has 2",
                "2 | --tp=2 --heads=1 | 1 heads cannot be shared by 2 tensor parallel ranks in equal parts",
                "2 | --cp=2 --context=30 | a sequence of 30 tokens cannot be shared by 2 context parallel ranks",
                "2 | --cp=2 --cp-exchange=ulysses --heads=1 | the 1 heads of a rank cannot be shared by --cp=2",
                "2 | --tp=2 --context=31 --sequence-parallel | the 31 tokens of a rank cannot be shared by --tp=2",
                "2 | --pp=2 --accumulate=1 | 1 micro-batches are fewer than the 2 pipeline ranks: use at least 2",
                "2 | --pp=2 --accumulate=2 --schedule=interleaved --virtual-stages=3 | a model of 4 layers has no 6 stages",
                "2 | --pp=2 --schedule=1f2b | no schedule has the name '1f2b'",
                "2 | --virtual-stages=2 | --virtual-stages=2 needs --pp",
                "2 | --sequence-parallel | --sequence-parallel needs --tp",
                "4 | --tp=2 --shard=2 | --shard and --zero work without --tp, --pp and --cp",
                "2 | --tp=2 --on-nonfinite=stop | --comm-hook and --on-nonfinite work without --tp, --pp and --cp",
                "2 | --tp=2 --sample=3 | --sample and --out need a rank with the whole model"
            })
    void mistakesAreOneLineThatSaysWhatToDo(int ranks, String flags, String message) {
        assertThatThrownBy(() -> train("bad", ranks, flags.split(" ")))
                .hasStackTraceContaining("InvalidArgumentException")
                .hasStackTraceContaining(message);
    }

    /** Trains to step {@link #STEPS} and returns the tensors of the checkpoint. */
    private Map<String, float[]> train(String name, int ranks, String... flags) {
        String place = folder.resolve(name).toString();
        GptOptions options = GptOptions.parse(Stream.concat(
                                Stream.of(
                                        "--tiny",
                                        "--steps=" + STEPS,
                                        "--layers=2",
                                        "--width=32",
                                        "--context=32",
                                        "--micro-batch=1",
                                        "--optimizer=sgd",
                                        "--max-bytes=60000",
                                        "--clip=0.5",
                                        "--checkpoint=" + place),
                                Stream.of(flags))
                        .toArray(String[]::new))
                .orElseThrow();
        LocalWorld.run(
                LocalWorldOptions.ofSize(ranks).withDeterministic(true),
                world -> TrainGpt.train(options, world, Progress.SILENT));
        try (CheckpointManager saved = CheckpointManager.alone(place, Retention.DEFAULT)) {
            Map<String, float[]> values = new TreeMap<>();
            Map<String, Tensor> tensors = saved.open(STEPS).read("");
            tensors.forEach((tensor, value) ->
                    values.put(tensor, TensorMemory.segment(value).toArray(ValueLayout.JAVA_FLOAT)));
            tensors.values().forEach(Tensor::close);
            values.keySet().removeIf(tensor -> tensor.endsWith(".step"));
            return values;
        }
    }
}
