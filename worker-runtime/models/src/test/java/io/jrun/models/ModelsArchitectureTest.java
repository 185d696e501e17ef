package io.jrun.models;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.library.dependencies.SlicesRuleDefinition;

@AnalyzeClasses(packages = "io.jrun.models", importOptions = DoNotIncludeTests.class)
class ModelsArchitectureTest {
    @ArchTest
    static final ArchRule MODELS_STAND_ON_TRAIN_AND_LIBTORCH_ALONE = noClasses()
            .should()
            .dependOnClassesThat()
            .resideOutsideOfPackages(
                    "io.jrun.models..",
                    "io.jrun.comm", // values such as Device
                    "io.jrun.comm.file",
                    "io.jrun.train..",
                    "org.bytedeco..",
                    "java..",
                    "org.jspecify..");

    @ArchTest
    static final ArchRule PACKAGES_HAVE_NO_CYCLES =
            SlicesRuleDefinition.slices().matching("io.jrun.(**)").should().beFreeOfCycles();
}
