package io.jrun.launcher.cli;

import java.util.Map;
import java.util.Stack;
import picocli.CommandLine.IParameterPreprocessor;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;

/** Hands each option that picocli finds to {@code receiver}, in place of picocli's own conversion of values. */
record ValueReceiver(Receiver receiver) implements IParameterPreprocessor {
    /** Takes one option of the line. */
    interface Receiver {
        /**
         * Takes {@code option}.
         *
         * @param separator the text between name and value: "=", empty for an attached value, or "null"
         * @param rest the words after the option, next word on top; the receiver removes the value
         */
        void receive(CommandLineOption option, String separator, Stack<String> rest, CommandSpec spec);
    }

    @Override
    public boolean preprocess(Stack<String> rest, CommandSpec spec, ArgSpec found, Map<String, Object> info) {
        receiver.receive((CommandLineOption) found.userObject(), String.valueOf(info.get("separator")), rest, spec);
        return true;
    }
}
