package io.jrun.examples.gpt;

import io.jrun.train.model.ModelDefinition;
import io.jrun.train.model.ModelSetup;
import io.jrun.trainer.ModelFactory;

/** Makes models of one shape for any vocabulary. */
public record GptFactory(GptConfig config) implements ModelFactory {
    @Override
    public ModelDefinition of(ModelSetup setup) {
        return new GptDefinition(config.withVocabulary(setup.vocabulary()), setup.device());
    }

    @Override
    public boolean hasExperts() {
        return config.experts().interval() > 0;
    }
}
