package io.jrun.train.weights;

import java.util.List;
import java.util.Map;

/** A module that says more about its files than names: tensors with two names, and notes for the user. */
public interface PretrainedModule {
    /**
     * The tensors that a file may store under another name, or under both names. Maps the other name, after the
     * {@link NameMapping}, to the name in the module.
     */
    Map<String, String> tiedNames();

    /**
     * Gives the module a tensor of its own for a name of {@link #tiedNames()}, because a file has two different tensors.
     * The tensor is a parameter with this name afterwards. Called on each rank before the weights are read.
     *
     * @throws IllegalArgumentException if the module can have one tensor only
     */
    void untie(String name);

    /** Lines about the configuration of the module. The loader prints each line once for a job. */
    List<String> notes();
}
