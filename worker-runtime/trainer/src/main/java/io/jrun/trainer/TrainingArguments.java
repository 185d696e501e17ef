package io.jrun.trainer;

import io.jrun.comm.World;
import io.jrun.train.model.ModelDefinition;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.trainer.arguments.CommandLineArguments;
import io.jrun.trainer.arguments.InvalidArgumentException;
import io.jrun.trainer.arguments.Processors;
import io.jrun.trainer.data.DataOptions;
import io.jrun.trainer.device.DeviceOptions;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The arguments of a training, typed. {@link #parse} reads them from a command line; a program may change them, and
 * {@link Trainer#train(TrainingArguments, World, PrintStream)} trains with them.
 *
 * <pre>{@code
 * var arguments = TrainingArguments.parse(args, ModelOptions.none(OwnModel::new), world.size()).orElseThrow();
 * Trainer.train(arguments.withSteps(100).withLearningRate(1e-3), world, System.out);
 * }</pre>
 *
 * @param device where the ranks compute
 * @param data text or token files; without --data the JDK's own sources
 * @param model the tokens of a text, and what builds the model
 * @param steps optimizer steps
 * @param microBatch sequences of one forward pass of a rank
 * @param learningRate the peak
 * @param recipe precision, optimizer, exchange of gradients, recomputation
 * @param parallel how the ranks share the model
 * @param seed decides the first values and the order of the data
 * @param logEvery steps between progress lines
 * @param evaluation when the held-out loss is computed, and what follows from it
 * @param sampling the text that the model generates
 * @param threads per worker; 0 leaves the choice to the launcher (OMP_NUM_THREADS), or 1 without one
 * @param checkpoints where and when the training is saved
 * @param notes lines for the user about values of a configuration file that change nothing
 */
public record TrainingArguments(
        DeviceOptions device,
        DataOptions data,
        ModelSource model,
        int steps,
        int microBatch,
        double learningRate,
        TrainingRecipe recipe,
        ParallelOptions parallel,
        int seed,
        int threads,
        int logEvery,
        EvaluationOptions evaluation,
        SamplingOptions sampling,
        CheckpointOptions checkpoints,
        List<String> notes) {
    /** Refuses numbers out of their ranges, with one line. */
    public TrainingArguments {
        notes = List.copyOf(notes);
        requireAtLeast("the number of steps", steps, 0);
        requireAtLeast("the micro-batch", microBatch, 1);
        requireAtLeast("the seed", seed, 0);
        requireAtLeast("the number of threads", threads, 0);
        requireAtLeast("the number of steps between progress lines", logEvery, 1);
        ParallelChecks.refuse(
                !(learningRate >= 0 && learningRate <= Float.MAX_VALUE),
                "the learning rate is " + learningRate + ", expected a number of at least 0");
    }

    private static void requireAtLeast(String what, int number, int least) {
        ParallelChecks.refuse(number < least, what + " is " + number + ", expected at least " + least);
    }

    private static final String DATA_HELP = """
        Data
          --data=PATH            folder, file or zip of text, .jsonl file, .tokens file of tokenize.jar, or a folder
                                 of such files  Default: the sources of the running JDK (lib/src.zip).
          --eval-data=PATH       other data to evaluate on; all of --data are then trained on
          --held-out=X           share of --data to evaluate on, from 0 to 0.5  Default: the last tenth, at most
                                 131072 tokens.
          --tokenizer=PATH       tokenizer.json or a folder with it; bytes: each byte is one token  Default: bytes.
          --text-field=NAME      field of .jsonl with the text  Default: text.
          --chat                 --data is JSON Lines of conversations: each line an object with messages
          --chat-template=FILE   template in Jinja  Default: chat_template.jinja or tokenizer_config.json of the model,
                                 or beside the tokenizer.
          --train-on=NAME        tokens of a conversation to learn: answers or all  Default: answers.
          --pack                 put as many conversations into a sample as fit; a token then also sees those before
                                 its own
          --max-bytes=N          bytes of text to read  Default: {max-bytes}.
          --context=N            tokens the model sees at once  Default: {context}.
        """;
    private static final String TRAINING_HELP = """
        Training
          --steps=N              optimizer steps  Default: {steps}.
          --micro-batch=N        sequences of one forward pass of a rank  Default: {micro-batch}.
          --global-batch=N       sequences of one step on all ranks; sets --accumulate
          --accumulate=N         micro-batches whose gradients make one step  Default: 1.
          --lr=X                 peak learning rate  Default: {lr}.
          --warmup=N             steps until the peak learning rate  Default: {warmup}.
          --warmup-curve=NAME    linear, or log (DeepSpeed's warmup_type log)  Default: linear.
          --lr-schedule=NAME     cosine or linear (down to the floor), constant, or one-cycle (torch's OneCycleLR
                                 with its momentum, without --warmup)  Default: cosine.
          --lr-floor=X           last learning rate of cosine and linear, as a share of the peak  Default: 0.1.
          --optimizer=NAME       sgd, adamw, fused (AdamW in one kernel call) or fused-sgd  Default: adamw, on a GPU
                                 fused.
          --betas=X,Y            decays of AdamW's means of gradients and of their squares  Default: 0.9,0.999.
          --eps=X                the number that AdamW adds to its denominator  Default: 1e-8.
          --momentum=X           momentum of SGD  Default: 0.9.
          --weight-decay=X       weight decay  Default: 0.01 for AdamW, 0 for SGD.
          --decay-matrices       no weight decay for biases and norms, with fused or fused-sgd
          --update-in-hook       update the parameters of a bucket when its gradients are reduced, with fused or
                                 fused-sgd and --clip=0; with --offload those of a layer
          --precision=TYPE       f32, bf16 or f16 (matrix products by autocast; f16 with a loss scale), or fp8
                                 (linear layers multiply numbers of 8 bits; GPUs since compute capability 8.9)  Default:
                                 f32.
          --parameters=TYPE      f32, f64 (for exact comparisons), or bf16 or f16 with float32 master copies in the
                                 optimizer: fused or fused-sgd  Default: f32.
          --clip=X               largest global norm of the gradients, 0 for no limit  Default: 1.0.
          --recompute=N          keep only the inputs of every Nth block and compute the block again in the backward
                                 pass; 1 is every block, 0 is none  Default: 0.
          --recompute-keep=NAMES also keep the outputs of these linear layers of a block, such as c_attn,c_fc
          --recompute-check=NAME compare the outputs of both computations: none, form (types and shapes) or bits
                                 Default: form.
          --comm-hook=NAME       exchange of gradients: none (unchanged), fp16 or bf16 (half the bytes), powersgd
                                 (rank 4, from the 11th pass)  Default: none.
          --local-sgd=N          from the 11th pass N neighbouring ranks exchange gradients, and all ranks average
                                 their parameters every 4 steps (post-local SGD)
          --bucket-cap-mb=N,...  MiB of the first bucket of gradients, of the second and so on; all further
                                 buckets have the last size  Default: 1,25.
          --static-graph         each pass uses the same parameters: later passes do not visit the graph
          --find-unused-parameters  passes may leave out parameters
          --uneven=NAME          train once on all of the text instead of --steps steps; a rank with fewer batches
                                 takes part in the steps of the others (join), or ends the training (stop)
          --ddp-report           the end prints the counts and times of DDP, with the overlap of each bucket
          --ema=DECAY            average the parameters with this decay; the end evaluates and writes the average
          --on-nonfinite=POLICY  stop or skip the step when the loss or a gradient is NaN or infinite  Default:
                                 no check.
          --seed=N               decides the initial values and the order of the data  Default: 1.
          --device=NAME          cpu, cuda (each rank uses its GPU), cuda:N, or auto (cuda if each rank can use a GPU,
                                 else cpu)  Default: auto.
          --tf32                 round the operands of float32 matrix products on a GPU to TF32  Default: float32.
          --cuda-graph           record the passes of a step on a GPU, and repeat them by one call of the host; for one
                                 rank and batches of one shape
          --threads=N            threads per worker  Default: the number that jrun chose, else 1.
          --tiny                 defaults for a smoke test of a few seconds; other options still apply
        Sharing of the model (--pp x --dp x --shard x --cp x --tp is the number of ranks)
          --tp=N                 ranks that share each layer (tensor parallelism)  Default: 1.
          --sequence-parallel    the ranks of --tp also share the sequence between the layers
          --cp=N                 ranks that share each sequence (context parallelism)  Default: 1.
          --cp-exchange=NAME     exchange of keys for --cp: ring, all-gather or ulysses  Default: ring.
          --pp=N                 ranks that share the layers as stages of a pipeline  Default: 1.
          --schedule=NAME        order of the pipeline: gpipe, 1f1b, interleaved, zb1p or zbv  Default: 1f1b.
          --virtual-stages=N     stages of a rank  Default: 2 for interleaved and zbv, else 1.
          --shard=N              ranks that share the states of one copy of the model  Default: 1.
          --zero=STAGE           shared states: 1 optimizer, 2 also gradients, 3 also parameters (FSDP); 1 and 2
                                 need --optimizer=fused or fused-sgd  Default: 3 with --shard, else 0.
          --dp=N                 copies of the model  Default: as many as the ranks make.
          --ep=N                 ranks of --dp that share the experts (expert parallelism); with --zero=1 and 2 ranks
                                 of --shard  Default: 1.
          --offload=FOLDER       with --zero=3 and --optimizer=fused: parameters, gradients and states lie in files
                                 of FOLDER/rank-N, and a later job goes on from there
          --deepspeed=FILE       take options from a configuration of DeepSpeed; other options override the file
          --reshard-after-forward=WORD  with --zero=3: yes (free a layer after its forward pass), no, or N (keep a
                                 part of 1/N)  Default: no with --pp, else yes.
        Evaluation
          --eval-every=N         compute the held-out loss every N steps  Default: 0 (only at the end).
          --patience=N           end the training when N evaluations in a row had no lower loss  Default: 0 (never).
          --keep-best            --out gets the parameters with the lowest held-out loss, not the last ones
          --sample=N             print N tokens of generated text at the end  Default: 0.
          --sample-every=N       print such a text also every N steps  Default: 0.
          --prompt=TEXT          the begin of the generated text  Default: the begin of a comment.
          --temperature=X        divides the logits of a token; 0 takes the most probable token  Default: 0.8.
        Output
          --log-every=N          steps between progress lines  Default: {log-every}.
          --tensorboard=DIR      write TensorBoard event files to DIR
          --peak-flops=X         floating point operations a second of one rank's device: reports MFU by PaLM's
                                 formula  Default: the peak of a known GPU; without one there is no MFU.
          --checkpoint=LOCATION  save the training there: a folder, or s3://BUCKET/PREFIX
          --checkpoint-every=N   also save every N steps  Default: 0 (only at the end, and when jrun asks for it).
          --checkpoint-async     train on while a checkpoint is written
          --keep-last=N          checkpoints to keep  Default: 2.
          --keep-every=N         also keep each checkpoint of a step that N divides  Default: 0 (none).
          --resume[=STEP]        go on from the newest checkpoint at LOCATION, if there is one, or from the one of
                                 STEP; a restarted job goes on from the newest that it has saved
          --out=PATH             write the trained model there at the end; a file of safetensors, if the
                                 program has no other form
          --check-replicas=N     compare the ranks' copies of the parameters every N steps, and before each
                                 checkpoint and --out; 0 for never  Default: 100.
          --help                 print this text
        """;

    private static final List<String> VALUED = List.of(
            "--context",
            "--steps",
            "--micro-batch",
            "--lr",
            "--seed",
            "--threads",
            "--log-every",
            DeepSpeedConfig.OPTION);
    private static final List<String> FLAGS = List.of("--tiny", "--help");

    /** Far above all published models. A larger number is a mistake, and its products would exceed 64 bits. */
    private static final int LARGEST_CONTEXT = 1 << 24;

    /** The text of {@code --help}. */
    static String help(String usage, ModelOptions model) {
        String ofModel = model.help().isEmpty() ? "" : "Model\n" + model.help();
        return usage + model.defaults(false).in(DATA_HELP + ofModel + TRAINING_HELP);
    }

    /**
     * Reads a command line; empty if the command line has --help. An option has precedence over a value of the
     * configuration of {@code --deepspeed}.
     *
     * @param model the options of the program about its model
     * @param ranks of the job; a configuration of DeepSpeed depends on the number
     * @throws InvalidArgumentException with one line, if an option or a combination of options cannot be used
     */
    public static Optional<TrainingArguments> parse(String[] args, ModelOptions model, int ranks) {
        CommandLineArguments given = CommandLineArguments.parse(args, valued(model), flags(model));
        if (given.has("--help")) {
            return Optional.empty();
        }
        TrainingArguments ofCommandLine = read(given, model);
        TrainingArguments arguments = given.text(DeepSpeedConfig.OPTION)
                .map(file -> DeepSpeedConfig.read(Path.of(file), ofCommandLine, given, ranks))
                .map(config -> config.arguments().withNotes(config.notes()))
                .orElse(ofCommandLine);
        ParallelChecks.refuse(
                arguments.recipe().exchange().unevenEnd().isPresent() && arguments.steps() != ofCommandLine.steps(),
                "--uneven trains once on all of the text: give a configuration of DeepSpeed without total_num_steps");
        arguments.check(given);
        return Optional.of(arguments);
    }

    /** The names of the options of a training, with those of the program about its model. */
    public static List<String> optionNames(ModelOptions model) {
        return Stream.concat(valued(model).stream(), flags(model).stream()).toList();
    }

    private static List<String> valued(ModelOptions model) {
        return Stream.of(
                        VALUED,
                        DeviceOptions.VALUED,
                        model.valued(),
                        ParallelOptions.VALUED,
                        TrainingRecipe.VALUED,
                        DataOptions.VALUED,
                        EvaluationOptions.VALUED,
                        SamplingOptions.VALUED,
                        CheckpointOptions.VALUED)
                .flatMap(List::stream)
                .toList();
    }

    private static List<String> flags(ModelOptions model) {
        return Stream.of(
                        FLAGS,
                        DataOptions.FLAGS,
                        model.flags(),
                        DeviceOptions.FLAGS,
                        TrainingRecipe.FLAGS,
                        ParallelOptions.FLAGS,
                        EvaluationOptions.FLAGS,
                        CheckpointOptions.FLAGS)
                .flatMap(List::stream)
                .toList();
    }

    /** Reads the options one by one. */
    static TrainingArguments read(CommandLineArguments given, ModelOptions model) {
        TrainingDefaults defaults = model.defaults(given.has("--tiny"));
        ModelFactory factory = model.read(given);
        int seed = given.number("--seed", 1, 0);
        return new TrainingArguments(
                DeviceOptions.of(given),
                factory.data(DataOptions.of(given, defaults.maxBytes())),
                new ModelSource(factory, ModelSource.BYTES, context(given, factory, defaults), seed),
                given.number("--steps", defaults.steps(), 0),
                given.number("--micro-batch", defaults.microBatch(), 1, 1 << 20),
                given.learningRate("--lr", defaults.learningRate()),
                TrainingRecipe.of(given, defaults.warmup()),
                ParallelOptions.of(given),
                seed,
                threads(given),
                given.number("--log-every", defaults.logEvery(), 1),
                EvaluationOptions.of(given),
                SamplingOptions.of(given),
                CheckpointOptions.of(given),
                List.of());
    }

    /** Refuses arguments that do not work together, however they came here. */
    void check() {
        check(CommandLineArguments.parse(new String[0], List.of(), List.of()));
    }

    /** Refuses options that do not work together. */
    private void check(CommandLineArguments given) {
        ModelFactory factory = model.factory();
        recipe.update().check(given);
        ParallelChecks.check(parallel, given);
        ParallelChecks.refuse(
                parallel.experts() > 1 && !factory.hasExperts(),
                "--ep needs a model with experts: the model has no experts");
        ParallelChecks.check(parallel, recipe, checkpoints);
        RecipeChecks.check(recipe, parallel, factory.hasExperts(), checkpoints);
        ParallelChecks.refuse(
                evaluation.every() > 0 && recipe.exchange().unevenEnd().isPresent(),
                "--eval-every works without --uneven");
        ParallelChecks.refuse(
                recipe.exchange().unevenEnd().isPresent() && given.has("--steps"),
                "--uneven trains once on all of the text: give no --steps");
    }

    private static int context(CommandLineArguments given, ModelFactory factory, TrainingDefaults defaults) {
        int longest = factory.longestContext().orElse(LARGEST_CONTEXT);
        int context = given.number("--context", Math.min(defaults.context(), longest), 1, LARGEST_CONTEXT);
        ParallelChecks.refuse(
                context > longest, "--context=" + context + ": the model takes at most " + longest + " tokens");
        return context;
    }

    /** Threads without a processor wait for each other in each operation: a step would take minutes. */
    private static int threads(CommandLineArguments given) {
        int threads = given.number("--threads", 0, 0);
        int processors = Processors.ofMachine();
        if (threads > processors) {
            throw new InvalidArgumentException("--threads is '" + threads + "', but this machine has " + processors
                    + " processors. Give at most as many.");
        }
        return threads;
    }

    /** The same on a device that the ranks have chosen. */
    TrainingArguments withDevice(DeviceOptions chosen) {
        return with(
                chosen,
                model,
                recipe.onDevice(chosen.device()),
                parallel,
                steps,
                microBatch,
                learningRate,
                logEvery,
                checkpoints,
                notes);
    }

    /**
     * The same for data of a form.
     *
     * @param length tokens of a sample
     */
    TrainingArguments withData(int vocabulary, int length) {
        return with(
                device,
                model.withData(vocabulary, length),
                recipe,
                parallel,
                steps,
                microBatch,
                learningRate,
                logEvery,
                checkpoints,
                notes);
    }

    /**
     * The same with the number of micro-batches of a step.
     *
     * @param dataRanks ranks that train on different samples
     * @throws InvalidArgumentException if {@code --global-batch} does not fit the ranks
     */
    TrainingArguments withAccumulation(int dataRanks) {
        return withRecipe(recipe.withAccumulate(parallel.accumulate(dataRanks, microBatch, recipe.accumulate())));
    }

    /** The same with another number of steps. */
    public TrainingArguments withSteps(int newSteps) {
        return with(device, model, recipe, parallel, newSteps, microBatch, learningRate, logEvery, checkpoints, notes);
    }

    /** The same with another number of sequences of one forward pass. */
    public TrainingArguments withMicroBatch(int newMicroBatch) {
        return with(device, model, recipe, parallel, steps, newMicroBatch, learningRate, logEvery, checkpoints, notes);
    }

    /** The same with another peak of the learning rate. */
    public TrainingArguments withLearningRate(double newLearningRate) {
        return with(device, model, recipe, parallel, steps, microBatch, newLearningRate, logEvery, checkpoints, notes);
    }

    /** The same with another recipe. */
    public TrainingArguments withRecipe(TrainingRecipe newRecipe) {
        return with(device, model, newRecipe, parallel, steps, microBatch, learningRate, logEvery, checkpoints, notes);
    }

    /** The same with another sharing of the model. */
    public TrainingArguments withParallel(ParallelOptions newParallel) {
        return with(device, model, recipe, newParallel, steps, microBatch, learningRate, logEvery, checkpoints, notes);
    }

    /** The same with another number of steps between progress lines. */
    public TrainingArguments withLogEvery(int newLogEvery) {
        return with(device, model, recipe, parallel, steps, microBatch, learningRate, newLogEvery, checkpoints, notes);
    }

    /** The same with other checkpoints. */
    public TrainingArguments withCheckpoints(CheckpointOptions newCheckpoints) {
        return with(device, model, recipe, parallel, steps, microBatch, learningRate, logEvery, newCheckpoints, notes);
    }

    /** The same with other notes. */
    TrainingArguments withNotes(List<String> newNotes) {
        return with(device, model, recipe, parallel, steps, microBatch, learningRate, logEvery, checkpoints, newNotes);
    }

    private TrainingArguments with(
            DeviceOptions newDevice,
            ModelSource newModel,
            TrainingRecipe newRecipe,
            ParallelOptions newParallel,
            int newSteps,
            int newMicroBatch,
            double newLearningRate,
            int newLogEvery,
            CheckpointOptions newCheckpoints,
            List<String> newNotes) {
        return new TrainingArguments(
                newDevice,
                data,
                newModel,
                newSteps,
                newMicroBatch,
                newLearningRate,
                newRecipe,
                newParallel,
                seed,
                threads,
                newLogEvery,
                evaluation,
                sampling,
                newCheckpoints,
                newNotes);
    }

    /** The model on the device of the ranks, not built. Each call makes a new object. */
    ModelDefinition definition() {
        return model.definition(device.device());
    }

    /** The learning rate of each step. */
    LearningRateSchedule schedule() {
        return recipe.update().rate().of(learningRate, steps);
    }

    /** Whether a progress line follows step {@code number}, from 1. */
    boolean reportsAfter(long number) {
        return number % logEvery == 0 || number == steps;
    }
}
