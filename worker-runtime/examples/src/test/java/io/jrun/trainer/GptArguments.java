package io.jrun.trainer;

import io.jrun.examples.gpt.GptConfig;
import io.jrun.examples.gpt.GptFactory;
import io.jrun.examples.gpt.GptModelOptions;
import java.util.Optional;

/** The command line of train.jar. */
final class GptArguments {
    private GptArguments() {}

    static Optional<TrainingArguments> parse(String... args) {
        return TrainingArguments.parse(args, new GptModelOptions(), 1);
    }

    /** The shape of the model that the arguments ask for, with the vocabulary of bytes. */
    static GptConfig shape(TrainingArguments arguments) {
        return ((GptFactory) arguments.model().factory()).config();
    }
}
