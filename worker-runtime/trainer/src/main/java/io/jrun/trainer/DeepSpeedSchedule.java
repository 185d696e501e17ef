package io.jrun.trainer;

import java.util.ArrayList;
import java.util.List;

/** The options that follow from DeepSpeed's learning-rate scheduler. Source: deepspeed/runtime/lr_schedules.py. */
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

    void addTo(List<String> options) {
        Object type = config.value("scheduler.type");
        if (type == null) {
            return;
        }
        switch (type.toString()) {
            case "WarmupLR" -> {
                requireKnown(MINIMUM, MAXIMUM);
                options.add("--lr-schedule=constant");
            }
            case "WarmupDecayLR" -> {
                requireKnown(MINIMUM, MAXIMUM, STEPS);
                options.add("--lr-schedule=linear");
                options.add("--lr-floor=0");
            }
            case "WarmupCosineLR" -> {
                requireKnown(MINIMUM_SHARE, FLOOR, STEPS);
                options.add("--lr-schedule=cosine");
                options.add("--lr-floor=" + config.number(PARAMETERS + FLOOR, DEFAULT_FLOOR));
            }
            default ->
                throw config.refused(
                        "scheduler.type",
                        "this program maps WarmupLR, WarmupDecayLR and WarmupCosineLR, not " + type
                                + ": use --lr-schedule");
        }
        if (config.has(PARAMETERS + STEPS)) {
            options.add("--steps=" + config.whole(PARAMETERS + STEPS, 0));
        }
        options.add("--warmup=" + config.whole(PARAMETERS + "warmup_num_steps", DEFAULT_WARMUP));
        options.add("--warmup-curve=" + curve());
        if (config.has(PARAMETERS + MAXIMUM)) {
            options.add("--lr=" + config.number(PARAMETERS + MAXIMUM, 0));
        }
    }

    private String curve() {
        Object curve = config.value(PARAMETERS + "warmup_type");
        if (curve == null || curve.equals("log") || curve.equals("linear")) {
            return curve == null ? "log" : curve.toString();
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
            if (config.number(PARAMETERS + first, 0) != 0) {
                throw config.refused(PARAMETERS + first, "this program warms up from 0");
            }
        }
    }
}
