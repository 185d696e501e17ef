package io.jrun.trainer;

import io.jrun.trainer.arguments.CommandLineArguments;
import java.util.ArrayList;
import java.util.List;

/** The arguments that follow from DeepSpeed's learning-rate scheduler. Source: deepspeed/runtime/lr_schedules.py. */
record DeepSpeedSchedule(DeepSpeedOptions config) {
    private static final String PARAMETERS = "scheduler.params.";
    private static final String MINIMUM = "warmup_min_lr";
    private static final String MAXIMUM = "warmup_max_lr";
    private static final String STEPS = "total_num_steps";
    private static final String MINIMUM_SHARE = "warmup_min_ratio";
    private static final String LAST = "last_batch_iteration";
    private static final long START = -1;
    private static final String FLOOR = "cos_min_ratio";
    private static final double DEFAULT_FLOOR = 1e-4;
    private static final int DEFAULT_WARMUP = 1000;

    /** The arguments with the schedule of the file, as far as the command line does not give it. */
    TrainingArguments fill(TrainingArguments arguments, CommandLineArguments given) {
        Object type = config.value("scheduler.type");
        if (type == null) {
            return arguments;
        }
        RateSchedule before = arguments.recipe().update().rate();
        RateSchedule.Kind kind;
        double floor = before.floor();
        switch (type.toString()) {
            case "WarmupLR" -> {
                requireKnown(MINIMUM, MAXIMUM);
                kind = RateSchedule.Kind.CONSTANT;
            }
            case "WarmupDecayLR" -> {
                requireKnown(MINIMUM, MAXIMUM, STEPS);
                kind = RateSchedule.Kind.LINEAR;
                floor = 0;
            }
            case "WarmupCosineLR" -> {
                requireKnown(MINIMUM_SHARE, FLOOR, STEPS);
                kind = RateSchedule.Kind.COSINE;
                floor = config.number(PARAMETERS + FLOOR, DEFAULT_FLOOR, 0, 1);
            }
            default ->
                throw config.refused(
                        "scheduler.type",
                        "this program maps WarmupLR, WarmupDecayLR and WarmupCosineLR, not " + type
                                + ": use --lr-schedule");
        }
        int warmup = config.count(PARAMETERS + "warmup_num_steps", DEFAULT_WARMUP, 0, Integer.MAX_VALUE);
        RateSchedule.Curve curve = curve();
        RateSchedule schedule = new RateSchedule(
                given.has("--lr-schedule") ? before.kind() : kind,
                given.has("--warmup") ? before.warmup() : warmup,
                given.has("--warmup-curve") ? before.curve() : curve,
                given.has("--lr-floor") ? before.floor() : floor);
        TrainingArguments filled = arguments.withRecipe(
                arguments.recipe().withUpdate(arguments.recipe().update().withRate(schedule)));
        if (config.has(PARAMETERS + STEPS)) {
            int steps = config.count(PARAMETERS + STEPS, 0, 0, Integer.MAX_VALUE);
            filled = given.has("--steps") ? filled : filled.withSteps(steps);
        }
        if (config.has(PARAMETERS + MAXIMUM)) {
            double peak = config.learningRate(PARAMETERS + MAXIMUM);
            filled = given.has("--lr") ? filled : filled.withLearningRate(peak);
        }
        return filled;
    }

    private RateSchedule.Curve curve() {
        Object curve = config.value(PARAMETERS + "warmup_type");
        if (curve == null || curve.equals("log")) {
            return RateSchedule.Curve.LOG;
        }
        if (curve.equals("linear")) {
            return RateSchedule.Curve.LINEAR;
        }
        throw config.refused(PARAMETERS + "warmup_type", "the types are log and linear, not " + curve);
    }

    /** Refuses other parameters, and a warm-up that does not begin at 0. */
    private void requireKnown(String... ofType) {
        List<String> known = new ArrayList<>(List.of(ofType));
        known.addAll(List.of("warmup_num_steps", "warmup_type", LAST));
        for (String path : config.paths("scheduler.")) {
            boolean isKnown =
                    path.equals("scheduler.type") || known.stream().anyMatch(each -> path.equals(PARAMETERS + each));
            if (!isKnown) {
                String name = path.substring(path.lastIndexOf('.') + 1);
                throw config.refused(
                        path,
                        "this program does not know the key "
                                + (known.contains(name)
                                        ? "in this place. Its place is " + PARAMETERS + name
                                        : "for " + config.value("scheduler.type")));
            }
        }
        if (config.whole(PARAMETERS + LAST, START) != START) {
            throw config.refused(
                    PARAMETERS + LAST, "the schedule begins with the training, or where a checkpoint ends: give -1");
        }
        for (String first : List.of(MINIMUM, MINIMUM_SHARE)) {
            if (config.number(PARAMETERS + first, 0, -Double.MAX_VALUE, Double.MAX_VALUE) != 0) {
                throw config.refused(PARAMETERS + first, "this program warms up from 0");
            }
        }
    }
}
