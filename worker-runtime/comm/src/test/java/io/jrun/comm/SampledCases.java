package io.jrun.comm;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.ArgumentsProvider;
import org.junit.jupiter.params.provider.ArgumentsSource;
import org.junit.jupiter.params.support.AnnotationConsumer;
import org.junit.jupiter.params.support.ParameterDeclarations;

/** Cases in the form of {@code CsvSource}. A run takes a part of them, see {@link Seeds#sample}. */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@ArgumentsSource(SampledCases.Provider.class)
public @interface SampledCases {
    /** The number of cases of a run. */
    int count();

    /** The cases: arguments with a comma and a space between them. */
    String[] value();

    /** Gives the run's part. */
    final class Provider implements ArgumentsProvider, AnnotationConsumer<SampledCases> {
        private List<String> cases = List.of();

        @Override
        public void accept(SampledCases source) {
            cases = Seeds.sample(List.of(source.value()), source.count());
        }

        @Override
        public Stream<? extends Arguments> provideArguments(
                ParameterDeclarations parameters, ExtensionContext context) {
            return cases.stream().map(one -> Arguments.of((Object[]) one.split(", ", -1)));
        }
    }
}
