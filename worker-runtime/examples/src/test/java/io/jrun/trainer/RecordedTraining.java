package io.jrun.trainer;

import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.train.model.ModelDefinition;
import io.jrun.train.model.ModelSetup;
import io.jrun.trainer.data.DataOptions;
import io.jrun.trainer.data.TrainingData;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.stream.Stream;

/**
 * A training of five steps of four samples in float64, and what the callbacks of its ranks have seen.
 *
 * @param printed by rank 0
 * @param ranks by rank
 */
record RecordedTraining(String printed, List<OfRank> ranks) {
    /**
     * What a rank has seen.
     *
     * @param losses of the steps on this rank
     */
    record OfRank(List<Double> losses, List<Double> heldOut, List<String> events) {}

    /** Trains. A mesh is the number of ranks and options. */
    static RecordedTraining run(String mesh, ModelFactory model, String... more) {
        return run(Integer.MAX_VALUE, mesh, model, more);
    }

    /** As {@link #run}. Rank 1 asks for the end after {@code stopAfter} steps. */
    static RecordedTraining run(int stopAfter, String mesh, ModelFactory model, String... more) {
        String[] words = mesh.split(" ");
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8);
        Map<Integer, OfRank> ranks = new ConcurrentSkipListMap<>();
        LocalWorld.run(LocalWorldOptions.ofSize(Integer.parseInt(words[0])).withDeterministic(true), world -> {
            OfRank seen = new OfRank(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
            ranks.put(world.rank(), seen);
            TrainingArguments given = TrainingArguments.parse(
                            Stream.of(Stream.of(arguments()), Stream.of(words).skip(1), Stream.of(more))
                                    .flatMap(part -> part)
                                    .toArray(String[]::new),
                            ModelOptions.none(new RecordedModel(model, new Recorder(seen, stopAfter))),
                            world.size())
                    .orElseThrow();
            Trainer.train(given, world, out);
        });
        return new RecordedTraining(bytes.toString(StandardCharsets.UTF_8), List.copyOf(ranks.values()));
    }

    static String[] arguments() {
        return new String[] {
            "--tiny",
            "--steps=5",
            "--context=16",
            "--micro-batch=1",
            "--global-batch=4",
            "--max-bytes=8000",
            "--warmup=0",
            "--parameters=f64"
        };
    }

    /** The held-out losses that a rank has seen. */
    List<Double> heldOut(int rank) {
        return ranks.get(rank).heldOut();
    }

    /** The loss of the first step: the mean over the ranks. */
    double firstLoss() {
        return ranks.stream()
                .mapToDouble(rank -> rank.losses().getFirst())
                .average()
                .orElseThrow();
    }

    /** The last step of a rank. */
    int steps(int rank) {
        return (int) ranks.get(rank).events().stream()
                .filter(event -> event.startsWith("ended"))
                .mapToLong(event -> Long.parseLong(event.substring("ended ".length())))
                .sum();
    }

    private record RecordedModel(ModelFactory model, TrainingCallback callback) implements ModelFactory {
        @Override
        public ModelDefinition of(ModelSetup setup) {
            return model.of(setup);
        }

        @Override
        public TrainingData<?> open(DataOptions options, int context, World world) {
            return model.open(options, context, world);
        }

        @Override
        public List<TrainingCallback> callbacks() {
            return List.of(callback);
        }
    }

    private record Recorder(OfRank seen, int stopAfter) implements TrainingCallback {
        @Override
        public void stepEnded(TrainingMoment moment) {
            seen.losses.add(moment.loss());
            seen.events.add("step " + moment.step());
            if (moment.step() == stopAfter && moment.world().rank() == 1) {
                moment.stop("enough");
            }
        }

        @Override
        public void evaluated(TrainingMoment moment, double heldOutLoss) {
            seen.heldOut.add(heldOutLoss);
            seen.events.add("evaluated " + moment.step());
        }

        @Override
        public void checkpointSaved(TrainingMoment moment) {
            seen.events.add("saved " + moment.step());
        }

        @Override
        public void ended(TrainingMoment moment) {
            seen.events.add("ended " + moment.step());
        }
    }
}
