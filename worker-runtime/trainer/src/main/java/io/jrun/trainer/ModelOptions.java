package io.jrun.trainer;

import io.jrun.trainer.arguments.CommandLineArguments;
import java.util.List;

/** The options of a program about its model, beside the options of the trainer. */
public interface ModelOptions {
    /** The names of the options that take a value, such as {@code --layers}. */
    List<String> valued();

    /** The names of the options that take no value. */
    List<String> flags();

    /** The lines of the section Model of {@code --help}; empty for none. */
    String help();

    /** The values of the trainer's options that are not given, with and without {@code --tiny}. */
    default TrainingDefaults defaults(boolean isTiny) {
        return isTiny ? TrainingDefaults.SMOKE_TEST : TrainingDefaults.NEW_MODEL;
    }

    /**
     * Reads the options.
     *
     * @param given also has the options of the trainer; {@code --tiny} asks for a model of a smoke test
     * @throws io.jrun.trainer.arguments.InvalidArgumentException with one line
     */
    ModelFactory read(CommandLineArguments given);

    /** No options. */
    static ModelOptions none(ModelFactory factory) {
        return new ModelOptions() {
            @Override
            public List<String> valued() {
                return List.of();
            }

            @Override
            public List<String> flags() {
                return List.of();
            }

            @Override
            public String help() {
                return "";
            }

            @Override
            public ModelFactory read(CommandLineArguments given) {
                return factory;
            }
        };
    }
}
