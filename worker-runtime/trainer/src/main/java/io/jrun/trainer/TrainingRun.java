package io.jrun.trainer;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.World;
import io.jrun.train.data.DataLoader;
import io.jrun.train.data.DataLoaderOptions;
import io.jrun.train.data.Remainder;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.step.Step;
import io.jrun.train.token.Tokenizer;
import io.jrun.trainer.arguments.InvalidArgumentException;
import io.jrun.trainer.data.TrainingData;
import io.jrun.trainer.device.FileReadNotes;
import java.lang.foreign.MemorySegment;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongConsumer;
import java.util.function.Supplier;

/** One training on data that are open: the steps, the evaluations, the checkpoints and the end. */
final class TrainingRun<S> {
    private final TrainingArguments options;
    private final TrainingData<S> data;
    private final World world;
    private final ProcessGroup group;
    private final Progress progress;
    private final TrainingSteps trainer;
    private final DataLoader<S> loader;
    private final TrainingBatches<S> batches;
    private final Checkpoints checkpoints;
    private final Callbacks callbacks;
    private final boolean evaluates;
    private long lastStep;

    private TrainingRun(
            TrainingArguments options,
            TrainingData<S> data,
            World world,
            ProcessGroup group,
            Progress progress,
            TrainingSteps trainer,
            DataLoader<S> loader,
            Checkpoints checkpoints) {
        this.options = options;
        this.data = data;
        this.world = world;
        this.group = group;
        this.progress = progress;
        this.trainer = trainer;
        this.loader = loader;
        this.checkpoints = checkpoints;
        batches = new TrainingBatches<>(data, loader, group);
        callbacks = new Callbacks(options, trainer, world);
        evaluates = data.heldOut().size() > 0;
    }

    /** Trains. Collective over the world. */
    static <S> void run(
            TrainingArguments given, TrainingData<S> data, World world, DeviceMesh mesh, Progress progress) {
        ProcessGroup group = ParallelOptions.dataGroup(mesh);
        long samples = data.training().size();
        TrainingArguments options = given.recipe().exchange().unevenEnd().isEmpty()
                ? given
                : given.withSteps(UnevenTraining.batches(samples, group.size(), given.microBatch()));
        check(options, data, group);
        try (var trainer = new TrainingSteps(options, world, mesh);
                DataLoader<S> loader = DataLoader.of(data.training(), group, loading(options));
                var checkpoints =
                        Checkpoints.open(options, world, group.size(), data.identity(), trainer, loader, progress)) {
            new TrainingRun<>(options, data, world, group, progress, trainer, loader, checkpoints).run();
        }
    }

    private static void check(TrainingArguments options, TrainingData<?> data, ProcessGroup group) {
        long samples = data.training().size();
        if (samples < (long) options.microBatch() * group.size()) {
            throw new InvalidArgumentException("the data make " + samples + " samples"
                    + (data.length() == 1 ? "" : " of " + data.length() + " tokens") + ", too few for " + group.size()
                    + " ranks with --micro-batch " + options.microBatch() + "; give more data, or a smaller "
                    + (data.length() == 1 ? "--micro-batch" : "--context"));
        }
        ParallelChecks.refuse(
                options.evaluation().every() > 0 && data.heldOut().size() == 0,
                "--eval-every needs samples to evaluate on, and the data hold out none: give --eval-data=PATH or a"
                        + " --held-out above 0");
        CudaGraphChecks.checkData(options, data.hasUnequalSamples());
        ParallelChecks.refuse(
                data.hasUnequalSamples()
                        && (options.model().factory().hasExperts()
                                || options.recipe().exchange().unevenEnd().isPresent()),
                "samples with unequal numbers of targets are trained without --experts and --uneven");
    }

    private static DataLoaderOptions loading(TrainingArguments options) {
        DataLoaderOptions complete = DataLoaderOptions.training(options.microBatch(), options.seed());
        return options.recipe().exchange().unevenEnd().isEmpty()
                ? complete
                : complete.withOrder(complete.order().withRemainder(Remainder.EXACT));
    }

    private void run() {
        long firstStep = checkpoints.resume();
        FileReadNotes.print(world);
        if (firstStep < options.steps()) {
            checkpoints.requireWritable();
        }
        progress.print(description(firstStep));
        trainer.report().utilisationFormula().ifPresent(progress::print);
        progress.begin(
                firstStep,
                options.steps(),
                (long) options.microBatch() * options.recipe().accumulate() * data.length() * group.size(),
                data.unit());
        lastStep = firstStep;
        boolean isWhole = checkpoints.protect(firstStep, done -> {
            Optional<ExchangeOptions.UnevenEnd> unevenEnd =
                    options.recipe().exchange().unevenEnd();
            if (unevenEnd.isPresent()) {
                new UnevenTraining<>(options, data, trainer, loader, progress).run(unevenEnd.get());
                lastStep = options.steps();
            } else {
                steps(firstStep, done);
            }
            end();
            checkpoints.saveLast(firstStep, lastStep);
        });
        if (isWhole) {
            evaluateAtEnd(firstStep);
        }
    }

    private void steps(long firstStep, LongConsumer done) {
        if (options.evaluation().isDue(firstStep) && firstStep > 0 && firstStep < options.steps()) {
            evaluateOnce(firstStep); // A stop signal came before the evaluation of the step.
        }
        Optional<String> stop = reasonToStop(firstStep);
        for (long step = firstStep + 1; step <= options.steps() && stop.isEmpty(); step++) {
            long number = step;
            AtomicInteger begun = new AtomicInteger();
            Supplier<StepBatch> ofStep = batches.ofStep(step, options.recipe().accumulate());
            trainer.step(step, () -> {
                checkpoints.requireNoStop();
                progress.reportBatch(
                        number, begun.incrementAndGet(), options.recipe().accumulate());
                return ofStep.get();
            });
            lastStep = step;
            done.accept(step);
            callbacks.call(step, TrainingCallback::stepEnded);
            if (options.reportsAfter(step)) {
                report(step);
            }
            if (step < options.steps()) {
                evaluateAndSample(step);
            }
            if (checkpoints.saveIfDue(step)) {
                callbacks.call(step, TrainingCallback::checkpointSaved);
            }
            stop = reasonToStop(step);
        }
        if (stop.isPresent() && lastStep > firstStep && !options.reportsAfter(lastStep)) {
            report(lastStep);
        }
        stop.ifPresent(reason -> progress.print("the training ends after step " + lastStep + ": " + reason));
    }

    private void report(long step) {
        progress.report(step, trainer.report(step));
        trainer.checks().takeReason().ifPresent(reason -> progress.print("skipped " + reason));
    }

    /** Equal on all ranks. */
    private Optional<String> reasonToStop(long step) {
        HeldOutLosses losses = trainer.heldOutLosses();
        int patience = options.evaluation().patience();
        if (step < options.steps() && losses.areExhausted(patience)) {
            return Optional.of("the held-out loss has not fallen for " + patience + " evaluations, " + losses.lowest()
                    + ". Give a larger --patience to train on.");
        }
        return step > 0 ? callbacks.stopReason() : Optional.empty();
    }

    private void evaluateAndSample(long step) {
        if (options.evaluation().isDue(step)) {
            evaluateOnce(step);
        }
        if (options.sampling().isDue(step)) {
            trainer.withAverage(() -> whileEvaluating(this::sample));
        }
    }

    private void evaluateOnce(long step) {
        HeldOutLosses losses = trainer.heldOutLosses();
        if (losses.hasEvaluated(step)) {
            return;
        }
        double[] loss = new double[1];
        trainer.withAverage(() -> {
            loss[0] = evaluate(step);
            if (losses.add(step, loss[0]) && options.evaluation().keepsBest()) {
                trainer.requireFinite(step);
                checkpoints.writeOut(step);
            }
        });
        progress.print(String.format(Locale.ROOT, "step %d held-out loss %.4f, %s", step, loss[0], losses.lowest()));
        callbacks.call(step, (callback, moment) -> callback.evaluated(moment, loss[0]));
    }

    /** The held-out loss, in the mode of evaluation. Collective. */
    private double evaluate(long step) {
        double[] loss = new double[1];
        TrainingRecipe.ParameterType type = options.recipe().parameters();
        whileEvaluating(() -> loss[0] = Evaluation.heldOutLoss(
                batch -> trainer.model().evaluate(type.converted(batch)),
                data,
                group,
                options.device().device()));
        // Ranks with other samples and other layers decide together.
        world.group().broadcast(MemorySegment.ofArray(loss), DataType.F64, 1, 0);
        trainer.report().reportHeldOut(step, loss[0]);
        return loss[0];
    }

    private void whileEvaluating(Runnable work) {
        TrainedModel model = trainer.model();
        model.module().eval();
        try (Step _ = model.step()) {
            work.run();
        } finally {
            model.module().train(true);
        }
    }

    private void end() {
        progress.end(trainer.model().exposedCommunication());
        trainer.model().summary().ifPresent(progress::print);
        Experts.summary(trainer.model().module(), world.group()).ifPresent(progress::print);
        if (trainer.checks().skipped() > 0) {
            progress.print(trainer.checks().skipped() + " steps were skipped: a loss or a gradient was not finite");
        }
        trainer.model().trainingDone();
        callbacks.call(lastStep, TrainingCallback::ended);
    }

    /** All ranks evaluate and generate, because ranks that share a model compute together. */
    private void evaluateAtEnd(long firstStep) {
        trainer.useAverage();
        boolean keepsBest = options.evaluation().keepsBest();
        if (!keepsBest) {
            checkpoints.writeOut(lastStep);
        }
        if (evaluates) {
            double loss = evaluate(lastStep);
            printAtEnd(loss);
            boolean isBest = !trainer.heldOutLosses().hasEvaluated(lastStep)
                    && trainer.heldOutLosses().add(lastStep, loss);
            if (keepsBest && isBest) {
                checkpoints.writeOut(lastStep);
            } else if (keepsBest) {
                progress.print("--out has the parameters with the held-out loss "
                        + trainer.heldOutLosses().lowest());
            }
            if (lastStep > firstStep) {
                callbacks.call(lastStep, (callback, moment) -> callback.evaluated(moment, loss));
            }
        }
        whileEvaluating(this::sample);
    }

    private void printAtEnd(double loss) {
        if (world.rank() == 0) {
            String text = String.format(Locale.ROOT, "held-out loss %.4f", loss)
                    + (data.unit().equals(TrainingData.SAMPLE) ? "" : " nats/" + data.unit());
            progress.print(text
                    + data.baseline().map(baseline -> " (" + baseline + ")").orElse(""));
        }
    }

    private void sample() {
        if (options.sampling().count() == 0) {
            return;
        }
        Tokenizer tokenizer = data.tokenizer()
                .orElseThrow(() -> new InvalidArgumentException(
                        "--sample needs the --tokenizer with which " + data + " was made"));
        SamplingOptions sampling = options.sampling();
        trainer.model()
                .generator(options)
                .ifPresent(generator -> progress.print(sampling.prompt()
                        + TextGenerator.continuation(
                                generator,
                                options.model().context(),
                                tokenizer,
                                sampling.prompt(),
                                new TextGenerator.Choice(sampling.count(), sampling.temperature(), options.seed()))));
    }

    private String description(long firstStep) {
        return String.format(
                "training %s parameters (%s) on %s, %s x %s, %s",
                rounded(trainer.model().parameterCount()),
                options.definition().summary(),
                data.summary(),
                counted(group.size(), "rank"),
                counted(options.microBatch(), data.length() == 1 ? "sample" : "sequence"),
                range(firstStep, options.steps()));
    }

    /** Thousands, or from a tenth of a million on millions. */
    private static String rounded(long parameters) {
        return parameters < 100_000
                ? String.format(Locale.ROOT, "%.1fK", parameters / 1e3)
                : String.format(Locale.ROOT, "%.2fM", parameters / 1e6);
    }

    private static String counted(int number, String noun) {
        return number + " " + noun + (number == 1 ? "" : "s");
    }

    private static String range(long firstStep, int steps) {
        if (firstStep == 0) {
            return counted(steps, "step");
        }
        return firstStep < steps
                ? "from step " + firstStep + " to " + steps
                : "no step: the checkpoint has " + firstStep + " of --steps=" + steps
                        + " steps. Give more --steps to train on";
    }
}
